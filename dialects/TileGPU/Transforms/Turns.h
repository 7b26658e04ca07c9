//===- Turns.h - Programs of a CTA that take turns --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_TURNS_H
#define TILEC_TILEGPU_TRANSFORMS_TURNS_H

#include "dialects/TileGPU/Transforms/Fetches.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilec::tilegpu {

/// Programs that take turns: while one multiplies, the other stores.
inline constexpr int64_t kPrograms = 2;

/// True when every tile of a problem takes as many stages of each channel, so that a program can pass by those of the
/// others.
bool canTakeTurns(llvm::MutableArrayRef<Channel> channels, mlir::scf::ForOp walk);

/// Program p takes every tile whose number is p modulo the number of programs, and passes by the stages of the
/// others. One issues products at a time, so that each finishes its tile early and stores it while another
/// multiplies; and a program never waits for a stage more than one round ahead, where a barrier's parity would mean
/// nothing. `walk` is the loop over tiles, in the role that reads the channels.
void takeTurns(tile::KernelOp kernel, llvm::MutableArrayRef<Channel> channels, mlir::scf::ForOp walk);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_TURNS_H
