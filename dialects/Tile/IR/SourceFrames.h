//===- SourceFrames.h - Where an op comes from ------------------*- C++ -*-===//
#ifndef TILEC_TILE_IR_SOURCEFRAMES_H
#define TILEC_TILE_IR_SOURCEFRAMES_H

#include "mlir/IR/Location.h"

namespace tilec::tile {

/// One level of the author's call chain. Lines and columns count from 1; no function when the location names none.
struct SourceFrame {
  llvm::StringRef file;
  unsigned line, column;
  llvm::StringRef function;
};

/// The call chain that a location holds, innermost call first; empty where the source is unknown.
llvm::SmallVector<SourceFrame> sourceFrames(mlir::Location loc);

} // namespace tilec::tile

#endif // TILEC_TILE_IR_SOURCEFRAMES_H
