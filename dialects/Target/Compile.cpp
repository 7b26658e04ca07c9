//===- Compile.cpp - Bytecode to PTX, contained ---------------------------===//
#include "dialects/Target/Compile.h"

#include "dialects/Pipelines/Pipelines.h"
#include "dialects/Plan/Summary.h"
#include "dialects/Target/Containment.h"
#include "dialects/Target/PTX.h"
#include "dialects/Tile/IR/SourceFrames.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include <chrono>

using namespace mlir;
namespace json = llvm::json;

namespace {
//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// Innermost source position first, then the calls that led to it.
json::Array toJSON(Location loc) {
  json::Array out;
  for (const tilec::tile::SourceFrame &frame : tilec::tile::sourceFrames(loc)) {
    json::Object place{{"file", frame.file}, {"line", frame.line}, {"column", frame.column}};
    if (!frame.function.empty())
      place["name"] = frame.function;
    out.push_back(std::move(place));
  }
  return out;
}

json::Object toJSON(Diagnostic &diagnostic) {
  StringRef severity = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? "error"
                       : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning"
                                                                                 : "note";
  return json::Object{
      {"severity", severity}, {"message", diagnostic.str()}, {"locations", toJSON(diagnostic.getLocation())}};
}

/// Collects what passes decided.
class DecisionCollector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit DecisionCollector(json::Array &decisions) : decisions(decisions) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) final {
    json::Object facts;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      facts[arg.key] = arg.val;
    decisions.push_back(json::Object{{"subject", remark.getRemarkName()},
                                     {"missed", remark.getRemarkType() == llvm::remarks::Type::Missed},
                                     {"facts", std::move(facts)},
                                     {"locations", toJSON(remark.getLocation())}});
  }

private:
  json::Array &decisions;
};

void collectDecisions(MLIRContext &context, json::Array &decisions) {
  const std::string category = "tilec";
  const remark::RemarkCategories categories{category, category, category, category, category};
  // It fails only for a context that has an engine.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<DecisionCollector>(decisions),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

//===----------------------------------------------------------------------===//
// One compilation
//===----------------------------------------------------------------------===//

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  tilec::registerDialects(registry);
  // Dialects load when the parser or a pass asks for them: hundreds of NVVM ops are not worth a key.
  return std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

class Compilation {
public:
  Compilation(StringRef bytecode, json::Object options)
      : bytecode(bytecode), options(std::move(options)), context(makeContext()) {
    context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      diagnostics.push_back(toJSON(diagnostic));
      for (Diagnostic &note : diagnostic.getNotes())
        diagnostics.push_back(toJSON(note));
      return success();
    });
    if (this->options.getBoolean("explain").value_or(false))
      collectDecisions(*context, decisions);
  }

  /// The whole way down. On failure, `diagnostics` says why.
  LogicalResult run() {
    OwningOpRef<ModuleOp> module;
    if (failed(timed("parse", [&] {
          module = parseSourceString<ModuleOp>(bytecode, context.get());
          return success(static_cast<bool>(module));
        })))
      return failure();
    const json::Object *target = options.getObject("target");
    if (!target)
      return module->emitError("compile options name no target");
    if (failed(runPhase("tile", *module, [&](OpPassManager &pm) {
          tilec::buildTilePipeline(pm);
          if (std::optional<StringRef> fault = options.getString("fault"))
            pm.addPass(tilec::createInjectFaultPass(*fault));
        })))
      return failure();
    tilec::CodegenOptions codegen{json::Value(json::Object(*target)), options.getInteger("num_warps").value_or(0),
                                  options.getInteger("num_stages").value_or(0),
                                  options.get("plan") ? *options.get("plan") : json::Value(nullptr)};
    if (failed(runPhase("tilegpu", *module, [&](OpPassManager &pm) { tilec::buildTileGPUPipeline(pm, codegen); })) ||
        failed(runPhase("lower", *module, [&](OpPassManager &pm) { tilec::buildLLVMPipeline(pm); })))
      return failure();

    phase = "ptx";
    FailureOr<json::Value> launchPlan = tilec::takePlan(*module);
    if (failed(launchPlan))
      return failure();
    plan = std::move(*launchPlan);
    FailureOr<tilec::PTX> emitted = tilec::emitPTX(*module, target->getString("name").value_or(""),
                                                   target->getInteger("ptx").value_or(0), wants("llvm"));
    if (failed(emitted))
      return failure();
    timings["optimize"] = emitted->optimizeMs;
    timings["ptx"] = emitted->selectMs;
    if (wants("llvm"))
      phases["llvm"] = std::move(emitted->llvmIR);
    ptx = std::move(emitted->text);
    return success();
  }

  json::Object finish(LogicalResult outcome) {
    if (failed(outcome))
      return json::Object{{"status", "error"}, {"phase", phase}, {"diagnostics", std::move(diagnostics)}};
    return json::Object{{"status", "ok"},
                        {"ptx", std::move(ptx)},
                        {"plan", std::move(plan)},
                        {"phases", std::move(phases)},
                        {"diagnostics", std::move(diagnostics)},
                        {"decisions", std::move(decisions)},
                        {"timings_ms", std::move(timings)}};
  }

  StringRef currentPhase() const { return phase; }
  /// After a fault nothing of the context may run again, its destructor included.
  void leakContext() { (void)context.release(); }

private:
  bool wants(StringRef name) const {
    const json::Array *wanted = options.getArray("phases");
    return wanted && llvm::any_of(*wanted, [&](const json::Value &value) { return value.getAsString() == name; });
  }

  LogicalResult timed(StringRef name, llvm::function_ref<LogicalResult()> work) {
    phase = name.str();
    auto start = std::chrono::steady_clock::now();
    LogicalResult result = work();
    timings[name] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  LogicalResult runPhase(StringRef name, ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
    LogicalResult result = timed(name, [&] {
      PassManager pm(context.get());
      build(pm);
      return pm.run(module);
    });
    if (succeeded(result) && wants(name)) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      module.print(stream);
      phases[name] = std::move(text);
    }
    return result;
  }

  StringRef bytecode;
  json::Object options;
  json::Array decisions; // outlives the context, whose remarks go there
  std::unique_ptr<MLIRContext> context;
  std::string phase = "parse";
  std::string ptx;
  json::Value plan = nullptr;
  json::Object phases, timings;
  json::Array diagnostics;
};

std::string text(json::Object object) { return llvm::formatv("{0}", json::Value(std::move(object))).str(); }

/// Assertions report their place when they fail, so there it is more than debug information.
void keepPlacesOfAssertions(ModuleOp module) {
  module.walk([](tilec::tile::AssertOp op) {
    llvm::SmallVector<tilec::tile::SourceFrame> frames = tilec::tile::sourceFrames(op.getLoc());
    if (frames.empty())
      return;
    auto place = llvm::formatv("{0}:{1}, {2}", frames[0].file, frames[0].line, frames[0].function);
    op->setAttr("tilec.place", StringAttr::get(op.getContext(), place.str()));
  });
}

/// Parses without a diagnostic handler of ours and without touching stderr.
OwningOpRef<ModuleOp> parseQuietly(StringRef bytecode, MLIRContext &context) {
  context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  return parseSourceString<ModuleOp>(bytecode, &context);
}
} // namespace

std::string tilec::compile(StringRef bytecode, StringRef options) {
  llvm::Expected<json::Value> parsed = json::parse(options);
  if (!parsed || !parsed->getAsObject()) {
    std::string why = parsed ? "not an object" : llvm::toString(parsed.takeError());
    return text(json::Object{{"status", "fault"}, {"phase", "options"}, {"message", "compile options: " + why}});
  }
  Compilation compilation(bytecode, std::move(*parsed->getAsObject()));
  json::Object result;
  std::optional<std::string> fault = runContained([&] { result = compilation.finish(compilation.run()); });
  if (!fault)
    return text(std::move(result));
  compilation.leakContext();
  return text(json::Object{{"status", "fault"}, {"phase", compilation.currentPhase()}, {"message", *fault}});
}

std::string tilec::irKey(StringRef bytecode) {
  std::string key;
  auto work = [&] {
    std::unique_ptr<MLIRContext> context = makeContext();
    OwningOpRef<ModuleOp> module = parseQuietly(bytecode, *context);
    if (!module)
      return;
    keepPlacesOfAssertions(*module);
    PassManager pm(context.get());
    buildTilePipeline(pm);
    pm.addPass(createStripDebugInfoPass());
    if (failed(pm.run(*module)))
      return;
    std::string canonical;
    llvm::raw_string_ostream stream(canonical);
    if (failed(writeBytecodeToFile(*module, stream)))
      return;
    key = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(canonical)), /*LowerCase=*/true);
  };
  return runContained(work) ? std::string() : key;
}

std::string tilec::summarize(StringRef bytecode) {
  std::string out;
  auto work = [&] {
    std::unique_ptr<MLIRContext> context = makeContext();
    OwningOpRef<ModuleOp> module = parseQuietly(bytecode, *context);
    if (!module)
      return;
    PassManager pm(context.get());
    buildTilePipeline(pm);
    if (failed(pm.run(*module)))
      return;
    for (tile::KernelOp kernel : module->getOps<tile::KernelOp>())
      out = text(summarize(kernel));
  };
  return runContained(work) ? std::string() : out;
}

std::string tilec::print(StringRef bytecode, bool locations) {
  std::string out;
  auto work = [&] {
    std::unique_ptr<MLIRContext> context = makeContext();
    if (OwningOpRef<ModuleOp> module = parseQuietly(bytecode, *context)) {
      llvm::raw_string_ostream stream(out);
      module->print(stream, OpPrintingFlags().enableDebugInfo(locations));
    }
  };
  return runContained(work) ? std::string() : out;
}

int tilec::optMain(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  registerPasses();
  return failed(MlirOptMain(argc, argv, "tilec optimizer driver\n", registry)) ? 1 : 0;
}
