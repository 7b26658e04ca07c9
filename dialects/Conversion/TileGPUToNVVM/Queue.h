//===- Queue.h - Barriers of a queue ----------------------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_QUEUE_H
#define TILEC_CONVERSION_TILEGPUTONVVM_QUEUE_H

#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

namespace tilec::lowering {

/// Address of the barrier at which the bytes of a stage arrive, i32. `queue` are the converted values.
mlir::Value filledBarrier(mlir::OpBuilder &builder, mlir::Location loc, tilegpu::QueueType type, mlir::ValueRange queue,
                          mlir::Value stage);

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_QUEUE_H
