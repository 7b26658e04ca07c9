//===- Decisions.h - What passes decided, for those who ask ----*- C++ -*-===//
//
// Passes tell what they chose, and why, by MLIR's remarks of the category
// `tilec`. `tilec inspect --phase plan` shows them, and so does
// `tilec-opt --remarks-filter=tilec`. Where nobody asks, nothing is built.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_TILEGPU_IR_DECISIONS_H
#define TILEC_TILEGPU_IR_DECISIONS_H

#include "dialects/Tile/IR/TileDialect.h"

#include <string>

namespace tilec::tilegpu {

/// Why something is not taken, and what is nearest that would be; `nearest` may be empty.
struct Obstacle {
  std::string reason, nearest;
};

/// More about a decision: names and values.
using Facts = llvm::ArrayRef<std::pair<llvm::StringRef, std::string>>;

/// True when somebody asks.
bool isAskedAbout(mlir::Operation *op);

/// The `subject` (product, load, store) `op` became `outcome`, the best there is.
void tellPassed(mlir::Operation *op, llvm::StringRef subject, llvm::StringRef outcome, Facts facts = {});
/// It became `outcome` because something better was in vain.
void tellMissed(mlir::Operation *op, llvm::StringRef subject, llvm::StringRef outcome, const Obstacle &why,
                Facts facts = {});
/// A choice for the whole kernel; `reason` may be empty.
void tellChoice(tile::KernelOp kernel, llvm::StringRef subject, llvm::StringRef outcome, llvm::StringRef reason = "");

/// The author's name of the array that `view` (a view or partition) is of; empty if it is chosen at run time.
std::string arrayName(mlir::Value view);

/// Extents as in (128, 64).
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_DECISIONS_H
