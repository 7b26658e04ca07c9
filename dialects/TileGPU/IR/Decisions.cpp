//===- Decisions.cpp - What passes decided, for those who ask -------------===//
#include "dialects/TileGPU/IR/Decisions.h"

#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
constexpr StringLiteral kCategory = "tilec";

remark::RemarkOpts about(StringRef subject) { return remark::RemarkOpts::name(subject).category(kCategory); }

void fill(remark::detail::InFlightRemark &remark, StringRef outcome, const Obstacle &why, Facts facts) {
  remark << outcome;
  if (!why.reason.empty())
    remark << remark::detail::Remark::Arg("Reason", why.reason);
  if (!why.nearest.empty())
    remark << remark::detail::Remark::Arg("Suggestion", why.nearest);
  for (const auto &[name, value] : facts)
    remark << remark::detail::Remark::Arg(name, value);
}
} // namespace

bool tilec::tilegpu::isAskedAbout(Operation *op) { return op->getContext()->getRemarkEngine() != nullptr; }

void tilec::tilegpu::tellPassed(Operation *op, StringRef subject, StringRef outcome, Facts facts) {
  remark::detail::InFlightRemark remark = remark::passed(op->getLoc(), about(subject));
  fill(remark, outcome, {}, facts);
}

void tilec::tilegpu::tellMissed(Operation *op, StringRef subject, StringRef outcome, const Obstacle &why, Facts facts) {
  remark::detail::InFlightRemark remark = remark::missed(op->getLoc(), about(subject));
  fill(remark, outcome, why, facts);
}

void tilec::tilegpu::tellChoice(tile::KernelOp kernel, StringRef subject, StringRef outcome, StringRef reason) {
  remark::detail::InFlightRemark remark = remark::analysis(kernel.getLoc(), about(subject));
  fill(remark, outcome, {reason.str(), ""}, {});
}

std::string tilec::tilegpu::arrayName(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<tile::PermuteViewOp, tile::ViewOfOp, tile::ViewCastOp>(op))
      break;
    view = op->getOperand(0);
  }
  std::optional<int64_t> number = argumentNumber(view);
  auto kernel = dyn_cast<tile::KernelOp>(view.getParentRegion()->getParentOp());
  if (!kernel && view.getDefiningOp())
    kernel = view.getDefiningOp()->getParentOfType<tile::KernelOp>();
  auto names = number && kernel ? kernel->getAttrOfType<ArrayAttr>("arg_names") : ArrayAttr();
  return names ? cast<StringAttr>(names[*number]).getValue().str() : "";
}

std::string tilec::tilegpu::shapeText(ArrayRef<int64_t> shape) {
  const char *end = shape.size() == 1 ? ",)" : ")"; // as Python writes tuples
  return "(" + llvm::join(llvm::map_range(shape, [](int64_t extent) { return std::to_string(extent); }), ", ") + end;
}
