//===- Accumulation.cpp - Loops that add up products ----------------------===//
#include "dialects/TileGPU/Transforms/Accumulation.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilec::tilegpu;

std::optional<SmallVector<MmaOp>> tilec::tilegpu::accumulation(scf::ForOp loop, unsigned number) {
  SmallVector<MmaOp> products;
  Value value = loop.getRegionIterArgs()[number];
  while (value.hasOneUse()) {
    OpOperand &use = *value.getUses().begin();
    if (use.getOwner() == loop.getBody()->getTerminator() && use.getOperandNumber() == number && !products.empty())
      return products;
    auto product = dyn_cast<MmaOp>(use.getOwner());
    if (!product || product->getBlock() != loop.getBody() || value != product.getAcc())
      return std::nullopt;
    products.push_back(product);
    value = product.getResult();
  }
  return std::nullopt;
}

bool tilec::tilegpu::isZeroTile(Value tile) {
  DenseElementsAttr value;
  if (!matchPattern(tile, m_Constant(&value)) || !value.isSplat())
    return false;
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().isPosZero();
  return value.getSplatValue<APInt>().isZero();
}
