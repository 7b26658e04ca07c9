//===- Optimize.cpp - The LLVM passes a kernel needs ----------------------===//
#include "dialects/Target/PTX.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Analysis/LazyValueInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScopedNoAliasAA.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

using namespace llvm;

namespace {
/// PassBuilder registers every analysis there is and drags every pass into the library; these
/// are the ones the passes below ask for.
struct Analyses {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  ModuleAnalysisManager modules;
  PassInstrumentationCallbacks callbacks;

  explicit Analyses(TargetMachine &machine) {
    auto instrument = [this] { return PassInstrumentationAnalysis(&callbacks); };
    loops.registerPass(instrument);
    functions.registerPass(instrument);
    modules.registerPass(instrument);
    functions.registerPass([&machine] { return machine.getTargetIRAnalysis(); });
    functions.registerPass(
        [&machine] { return TargetLibraryAnalysis(TargetLibraryInfoImpl(machine.getTargetTriple())); });
    functions.registerPass([] { return AssumptionAnalysis(); });
    functions.registerPass([] { return DominatorTreeAnalysis(); });
    functions.registerPass([] { return PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return LoopAnalysis(); });
    functions.registerPass([] { return ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return MemorySSAAnalysis(); });
    functions.registerPass([] { return OptimizationRemarkEmitterAnalysis(); });
    functions.registerPass([] { return BranchProbabilityAnalysis(); });
    functions.registerPass([] { return BlockFrequencyAnalysis(); });
    functions.registerPass([] { return LastRunTrackingAnalysis(); });
    functions.registerPass([] { return LazyValueAnalysis(); });
    functions.registerPass([] { return BasicAA(); });
    functions.registerPass([] { return ScopedNoAliasAA(); });
    functions.registerPass([] {
      AAManager manager;
      manager.registerFunctionAnalysis<BasicAA>();
      manager.registerFunctionAnalysis<ScopedNoAliasAA>();
      return manager;
    });
    modules.registerPass([] { return ProfileSummaryAnalysis(); });
    modules.registerPass([this] { return FunctionAnalysisManagerModuleProxy(functions); });
    functions.registerPass([this] { return ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([this] { return LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([this] { return FunctionAnalysisManagerLoopProxy(functions); });
  }
};
} // namespace

void tilec::optimize(Module &module, TargetMachine &machine) {
  Analyses analyses(machine);
  FunctionPassManager passes;
  passes.addPass(PromotePass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  LoopPassManager loops;
  // A test at the end of the loop leaves asynchronous products in one block with what waits for them.
  loops.addPass(LoopRotatePass());
  loops.addPass(LICMPass(LICMOptions()));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  ModulePassManager pipeline;
  pipeline.addPass(createModuleToFunctionPassAdaptor(std::move(passes)));
  pipeline.run(module, analyses.modules);
}
