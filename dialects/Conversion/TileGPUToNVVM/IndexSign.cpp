//===- IndexSign.cpp - Tile indices that cannot be negative ---------------===//
//
// A read or write at such an index needs no lower bound. The facts are gathered before the
// conversion, which takes loops apart.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilec;

namespace {
constexpr StringLiteral kNonNegative = "tilegpu.non_negative";

bool isNeverNegative(Value value, int depth = 0) {
  if (depth > 8)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNeverNegative(loop.getLowerBound(), depth + 1);
  }
  Operation *op = value.getDefiningOp();
  IntegerAttr constant;
  if (auto literal = dyn_cast<arith::ConstantOp>(op); literal && (constant = dyn_cast<IntegerAttr>(literal.getValue())))
    return constant.getInt() >= 0;
  auto operandsAre = [&] {
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isNeverNegative(operand, depth + 1); });
  };
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp, arith::MinSIOp,
          arith::MinUIOp, arith::MaxUIOp, arith::IndexCastOp>(op))
    return operandsAre();
  if (isa<arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), [&](Value operand) { return isNeverNegative(operand, depth + 1); });
  return isa<tile::IndexOp, tile::ProgramIdOp, tile::NumProgramsOp, tile::DimOp, tile::NumTilesOp,
             arith::IndexCastUIOp>(op);
}

void mark(Operation *op, ValueRange indices) {
  SmallVector<bool> facts = llvm::map_to_vector(indices, [](Value index) { return isNeverNegative(index); });
  op->setAttr(kNonNegative, DenseBoolArrayAttr::get(op->getContext(), facts));
}
} // namespace

void lowering::markNonNegativeIndices(Operation *root) {
  root->walk([](tile::LoadOp load) { mark(load, load.getIndices()); });
  root->walk([](tile::StoreOp store) { mark(store, store.getIndices()); });
  root->walk([](tilegpu::CopyAsyncOp copy) { mark(copy, copy.getIndices()); });
}

bool lowering::isNonNegative(Operation *access, int64_t dim) {
  auto facts = access->getAttrOfType<DenseBoolArrayAttr>(kNonNegative);
  return facts && facts[dim];
}
