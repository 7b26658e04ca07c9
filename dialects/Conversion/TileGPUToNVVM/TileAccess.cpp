//===- TileAccess.cpp - How a thread walks a tile in global memory --------===//
#include "dialects/Conversion/TileGPUToNVVM/TileAccess.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Coords;
using tilegpu::Layout;

TileAccess::TileAccess(OpBuilder &builder, Location loc, tile::ViewType type, const ViewValues &view,
                       RankedTensorType tile, ValueRange indices, ArrayRef<int64_t> step, ArrayRef<Bounds> bounds,
                       tilegpu::Move move)
    : builder(builder), loc(loc), type(type), layout(Layout::of(tile)), shape(tile.getShape()),
      bytes(type.getElementBytes()) {
  offsetType = type.getIndexBits() == 32 ? builder.getI32Type() : builder.getI64Type();
  chooseVector(step, move);
  threadId = lowering::threadId(builder, loc);
  thread = threadCoords(builder, loc, layout, threadId);
  place(view, indices, step, bounds);
}

Value TileAccess::address(int64_t number) {
  int64_t reg = number * vector.elems;
  Coords atom = layout.registerAtom(reg), repeat = layout.registerRepeat(reg);
  int64_t constant = 0;
  Value dynamic;
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    Value part;
    if (isSeparate(dim, atom)) {
      int64_t extra = atom[dim] + repeat[dim];
      if (type.hasUnitStride(dim)) {
        constant += extra * bytes;
        continue;
      }
      if (extra == 0)
        continue;
      part = multiply(offset(extra), strideBytes[dim]);
    } else {
      Value coord = elementCoords(builder, loc, layout, thread, reg)[dim];
      part = multiply(widen(arith::SubIOp::create(builder, loc, coord, thread[dim])), strideBytes[dim]);
    }
    dynamic = dynamic ? Value(arith::AddIOp::create(builder, loc, dynamic, part)) : part;
  }
  Value pointer = dynamic ? offsetPointer(builder, loc, threadPointer, dynamic) : threadPointer;
  return constant == 0 ? pointer : offsetPointer(builder, loc, pointer, constantI32(builder, loc, constant));
}

Value TileAccess::inside(int64_t number) {
  SmallVector<Value> coords = elementCoords(builder, loc, layout, thread, number * vector.elems);
  Value mask;
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    if (upper[dim])
      mask = andAlso(builder, loc, mask,
                     arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, coords[dim], upper[dim]));
    if (lower[dim])
      mask = andAlso(builder, loc, mask,
                     arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, coords[dim], lower[dim]));
  }
  return mask;
}

Value TileAccess::count(int64_t number) {
  SmallVector<Value> coords = elementCoords(builder, loc, layout, thread, number * vector.elems);
  return arith::SubIOp::create(builder, loc, upper[vectorDim], coords[vectorDim]);
}

/// The widest access that the layout, the alignment and the bounds allow.
void TileAccess::chooseVector(ArrayRef<int64_t> step, tilegpu::Move move) {
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    if (!type.hasUnitStride(dim))
      continue;
    tilegpu::Run run = tilegpu::longestRun(type, dim, shape[dim], step[dim], layout.contiguity(dim), move);
    if (run.elems > vector.elems)
      std::tie(vector, vectorDim) = std::pair(run, dim);
  }
}

void TileAccess::place(const ViewValues &view, ValueRange indices, ArrayRef<int64_t> step, ArrayRef<Bounds> bounds) {
  Value start = view.pointer, threadOffset;
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), indices[dim]);
    Value first = arith::MulIOp::create(builder, loc, index, constantI64(builder, loc, step[dim]));
    Value stride = arith::MulIOp::create(builder, loc, view.strides[dim], constantI64(builder, loc, bytes));
    start = offsetPointer(builder, loc, start, arith::MulIOp::create(builder, loc, first, stride));
    strideBytes.push_back(narrow(stride));
    Value part = multiply(widen(thread[dim]), strideBytes[dim]);
    threadOffset = threadOffset ? Value(arith::AddIOp::create(builder, loc, threadOffset, part)) : part;

    bool padded = layout.extent(dim) != shape[dim];
    upper.push_back(bounds[dim].upper ? clamp(arith::SubIOp::create(builder, loc, view.dims[dim], first), dim)
                    : padded          ? constantI32(builder, loc, shape[dim])
                                      : Value());
    lower.push_back(bounds[dim].lower
                        ? clamp(arith::SubIOp::create(builder, loc, constantI64(builder, loc, 0), first), dim)
                        : Value());
  }
  threadPointer = threadOffset ? offsetPointer(builder, loc, start, threadOffset) : start;
}

/// A bound relative to the tile's first element, between 0 and the tile's
/// extent.
Value TileAccess::clamp(Value bound, int64_t dim) {
  bound = arith::MinSIOp::create(builder, loc, bound, constantI64(builder, loc, shape[dim]));
  bound = arith::MaxSIOp::create(builder, loc, bound, constantI64(builder, loc, 0));
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(), bound);
}

/// True when a register's part of the coordinate can be added to the thread's.
bool TileAccess::isSeparate(int64_t dim, const Coords &atom) const {
  int64_t bits = 0;
  for (const tilegpu::Basis &basis : layout.lanes)
    bits |= basis[dim];
  for (const tilegpu::Basis &basis : layout.warps)
    bits |= basis[dim];
  return (bits & atom[dim]) == 0;
}

Value TileAccess::offset(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(offsetType, value));
}

Value TileAccess::multiply(Value lhs, Value rhs) { return arith::MulIOp::create(builder, loc, lhs, rhs); }

Value TileAccess::narrow(Value i64) {
  return offsetType.isInteger(64) ? i64 : Value(arith::TruncIOp::create(builder, loc, offsetType, i64));
}

Value TileAccess::widen(Value i32) {
  return offsetType.isInteger(32) ? i32 : Value(arith::ExtSIOp::create(builder, loc, offsetType, i32));
}
