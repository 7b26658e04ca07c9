//===- FindProblems.cpp - Programs of grouped launches --------------------===//
//
// A grouped launch has one program for each tile of all its problems. Programs
// that walk over tiles find the problem of each of them on their way; here the
// others do, whose tile is that of their number.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/Transforms/Passes.h"
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
struct FindProblems : PassWrapper<FindProblems, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindProblems)
  StringRef getArgument() const final { return "tilegpu-find-problems"; }
  StringRef getDescription() const final { return "let programs of grouped launches find their problem"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect>();
  }

  void runOnOperation() final {
    tile::KernelOp kernel = getOperation();
    if (kernel->hasAttr(tile::TileDialect::kGrouped) && !kernel->hasAttr(tile::TileDialect::kWalksTiles))
      findProblem(kernel);
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createFindProblemsPass() { return std::make_unique<FindProblems>(); }
