//===- GlobalMemory.cpp - Vectors to and from global memory ---------------===//
//
// A vector that is aligned and lies wholly inside or outside is one instruction. One of bytes that is not aligned is
// loaded as the two aligned windows that cover it, each of which is only read if it has a byte of the array. Memory is
// mapped in pages, so that this is harmless; what else is read is discarded, whoever may be writing there. Shifts by
// the address's last bits, which may differ from row to row, put the vector together: first by whole words, then by
// bytes. Where the array's end may divide it, the elements beyond are replaced by padding.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/GlobalMemory.h"

#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;

//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

namespace {
/// ".v4.b32" and the like for an access of this many bytes; narrow ones use part of a 32-bit register.
std::string accessSuffix(int64_t bytes) {
  switch (bytes) {
  case 1:
    return ".b8";
  case 2:
    return ".b16";
  case 4:
    return ".b32";
  default:
    return llvm::formatv(".v{0}.b32", bytes / 4).str();
  }
}

std::string registerList(int64_t first, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? list : "{" + list + "}";
}

std::string repeated(StringRef constraint, int64_t count) {
  std::string all;
  for (int64_t i = 0; i < count; ++i)
    all += (i ? "," : "") + constraint.str();
  return all;
}

int64_t wordCount(int64_t bytes) { return std::max<int64_t>(bytes / 4, 1); }

} // namespace

SmallVector<Value> lowering::loadGlobal(OpBuilder &builder, Location loc, Value address, int64_t bytes, Value mask,
                                        ArrayRef<Value> padding, bool readOnly) {
  int64_t words = wordCount(bytes);
  SmallVector<Type> types(words, builder.getI32Type());
  std::string instruction = (readOnly ? "ld.global.nc" : "ld.global") + accessSuffix(bytes) + " " +
                            registerList(0, words) + llvm::formatv(", [${0}];", words).str();
  std::string constraints = repeated("=r", words) + ",l";
  SmallVector<Value> inputs{address};
  if (mask) {
    instruction = llvm::formatv("@${0} ", words + 1).str() + instruction;
    constraints += ",b";
    inputs.push_back(mask);
    for (int64_t i = 0; i < words; ++i)
      constraints += "," + std::to_string(i);
    llvm::append_range(inputs, padding);
  }
  return inlineAsm(builder, loc, instruction, constraints, inputs, types, /*sideEffects=*/!readOnly);
}

void lowering::storeGlobal(OpBuilder &builder, Location loc, Value address, ArrayRef<Value> words, int64_t bytes,
                           Value mask) {
  int64_t count = words.size();
  std::string instruction = "st.global" + accessSuffix(bytes) + " [$0], " + registerList(1, count) + ";";
  std::string constraints = "l," + repeated("r", count);
  SmallVector<Value> inputs{address};
  llvm::append_range(inputs, words);
  if (mask) {
    instruction = llvm::formatv("@${0} ", count + 1).str() + instruction;
    constraints += ",b";
    inputs.push_back(mask);
  }
  inlineAsm(builder, loc, instruction, constraints + ",~{memory}", inputs, {}, /*sideEffects=*/true);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

namespace {
constexpr int64_t kPieceBytes = 4, kWordBits = 32;

Value compare(OpBuilder &builder, Location loc, arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
  return arith::CmpIOp::create(builder, loc, predicate, lhs, constantI32(builder, loc, rhs));
}

/// `words` where they hold the first `count` bytes, `padding` behind them.
SmallVector<Value> padFrom(OpBuilder &builder, Location loc, ArrayRef<Value> words, ArrayRef<Value> padding,
                           Value count) {
  SmallVector<Value> padded;
  for (auto [number, word, pad] : llvm::enumerate(words, padding)) {
    // PTX's shl gives zero for shifts of a word and more; LLVM's gives poison.
    Value bits = arith::ShLIOp::create(builder, loc, count, constantI32(builder, loc, 3));
    bits = arith::SubIOp::create(builder, loc, bits, constantI32(builder, loc, number * kWordBits));
    bits = arith::MaxSIOp::create(builder, loc, bits, constantI32(builder, loc, 0));
    Value beyond = inlineAsm(builder, loc, "shl.b32 $0, -1, $1;", "=r,r", bits, builder.getI32Type(),
                             /*sideEffects=*/false)
                       .front();
    Value before = arith::XOrIOp::create(builder, loc, beyond, constantI32(builder, loc, -1));
    padded.push_back(arith::OrIOp::create(builder, loc, arith::AndIOp::create(builder, loc, word, before),
                                          arith::AndIOp::create(builder, loc, pad, beyond)));
  }
  return padded;
}

/// The `bytes` that start `address` modulo `bytes` behind the first of `words`, which are two windows of as many.
SmallVector<Value> shiftWindows(OpBuilder &builder, Location loc, SmallVector<Value> words, Value address,
                                int64_t bytes) {
  for (int64_t distance = bytes / 2; distance >= kPieceBytes; distance /= 2) {
    Value bit = arith::AndIOp::create(builder, loc, address, constantI32(builder, loc, distance));
    Value shifts = compare(builder, loc, arith::CmpIPredicate::ne, bit, 0);
    // Less than `distance` is still to come.
    const int64_t needed = llvm::divideCeil(bytes + distance - 1, kPieceBytes);
    for (int64_t i = 0; i < needed; ++i)
      words[i] = arith::SelectOp::create(builder, loc, shifts, words[i + distance / kPieceBytes], words[i]);
    words.truncate(needed);
  }
  Value bits = arith::ShLIOp::create(builder, loc, address, constantI32(builder, loc, 3)); // taken modulo 32
  for (int64_t i = 0; i < bytes / kPieceBytes; ++i)
    words[i] = LLVM::CallIntrinsicOp::create(builder, loc, builder.getI32Type(), builder.getStringAttr("llvm.fshr.i32"),
                                             {words[i + 1], words[i], bits})
                   .getResult(0);
  words.pop_back();
  return words;
}

/// A vector of bytes that is not aligned, of which `count` (null: all or none) lie inside.
SmallVector<Value> loadWindows(OpBuilder &builder, Location loc, TileAccess &access, int64_t number, Value count,
                               ArrayRef<Value> padding, bool readOnly) {
  const int64_t bytes = access.vectorBytes();
  Value place = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), access.address(number));
  Value aligned = arith::AndIOp::create(builder, loc, place, constantI64(builder, loc, -bytes));
  Value first =
      LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace), aligned);
  Value low = arith::TruncIOp::create(builder, loc, builder.getI32Type(), place);
  Value end = arith::AndIOp::create(builder, loc, low, constantI32(builder, loc, bytes - 1));
  Value inside = access.inside(number), reaches;
  if (count) {
    Value rest = arith::MinSIOp::create(builder, loc, count, constantI32(builder, loc, access.vectorElems()));
    end = arith::AddIOp::create(builder, loc, end, rest);
    reaches = compare(builder, loc, arith::CmpIPredicate::sgt, end, bytes);
  } else {
    reaches = compare(builder, loc, arith::CmpIPredicate::ne, end, 0);
  }
  // Equal elements stay what they are under the shifts.
  SmallVector<Value> words = loadGlobal(builder, loc, first, bytes, inside, padding, readOnly);
  words.append(loadGlobal(builder, loc, offsetPointer(builder, loc, first, constantI32(builder, loc, bytes)), bytes,
                          andAlso(builder, loc, inside, reaches), padding, readOnly));
  return shiftWindows(builder, loc, words, low, bytes);
}
} // namespace

SmallVector<Value> lowering::loadVector(OpBuilder &builder, Location loc, TileAccess &access, int64_t number,
                                        ArrayRef<Value> padding, bool readOnly) {
  if (access.isAligned())
    return loadGlobal(builder, loc, access.address(number), access.vectorBytes(), access.inside(number), padding,
                      readOnly);
  Value count = access.isWhole() ? Value() : access.count(number);
  SmallVector<Value> words = loadWindows(builder, loc, access, number, count, padding, readOnly);
  return count ? padFrom(builder, loc, words, padding, count) : words;
}
