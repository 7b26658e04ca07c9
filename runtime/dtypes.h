//===- dtypes.h - Element types of arrays and scalars
//----------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilec::runtime {

/// The order is part of the packed key only, never of anything stored.
enum class DType : uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  e4m3,
  e5m2,
};

constexpr int dtypeCount = 15;

/// tilec's name: "bool", "i8", …, "bf16".
const char *nameOf(DType dtype);

unsigned bytesOf(DType dtype);

std::optional<DType> dtypeFromName(std::string_view name);

/// The dtype with a DLPack type code and width.
std::optional<DType> dtypeFromDLPack(uint8_t code, uint8_t bits, uint16_t lanes);

/// The dtype of an array-interface type string such as "<f4"; nothing for
/// opaque ("V2") and foreign ones.
std::optional<DType> dtypeFromTypeString(std::string_view text);

/// The dtype with a NumPy or ml_dtypes name such as "float32" or "bfloat16".
std::optional<DType> dtypeFromNumpyName(std::string_view name);

} // namespace tilec::runtime
