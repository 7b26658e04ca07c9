//===- dtypes.cpp - Element types of arrays and scalars
//--------------------===//

#include "dtypes.h"

#include "dlpack_abi.h"

using namespace tilec::runtime;

namespace {

struct Entry {
  const char *name;
  const char *numpyName;
  const char *typeString; // without the byte order; null: opaque to NumPy
  uint8_t dlpackCode;
  uint8_t bits;
};

/// In the order of the enumeration.
constexpr Entry table[dtypeCount] = {
    {"bool", "bool", "b1", dlpack::boolean, 8},
    {"i8", "int8", "i1", dlpack::signedInteger, 8},
    {"i16", "int16", "i2", dlpack::signedInteger, 16},
    {"i32", "int32", "i4", dlpack::signedInteger, 32},
    {"i64", "int64", "i8", dlpack::signedInteger, 64},
    {"u8", "uint8", "u1", dlpack::unsignedInteger, 8},
    {"u16", "uint16", "u2", dlpack::unsignedInteger, 16},
    {"u32", "uint32", "u4", dlpack::unsignedInteger, 32},
    {"u64", "uint64", "u8", dlpack::unsignedInteger, 64},
    {"f16", "float16", "f2", dlpack::ieeeFloat, 16},
    {"bf16", "bfloat16", nullptr, dlpack::bfloat, 16},
    {"f32", "float32", "f4", dlpack::ieeeFloat, 32},
    {"f64", "float64", "f8", dlpack::ieeeFloat, 64},
    {"e4m3", "float8_e4m3fn", nullptr, dlpack::float8e4m3fn, 8},
    {"e5m2", "float8_e5m2", nullptr, dlpack::float8e5m2, 8},
};

template <typename Predicate> std::optional<DType> findEntry(Predicate matches) {
  for (int index = 0; index < dtypeCount; ++index)
    if (matches(table[index]))
      return static_cast<DType>(index);
  return std::nullopt;
}

} // namespace

const char *tilec::runtime::nameOf(DType dtype) { return table[static_cast<int>(dtype)].name; }

unsigned tilec::runtime::bytesOf(DType dtype) { return table[static_cast<int>(dtype)].bits / 8; }

std::optional<DType> tilec::runtime::dtypeFromName(std::string_view name) {
  return findEntry([&](const Entry &entry) { return name == entry.name; });
}

std::optional<DType> tilec::runtime::dtypeFromDLPack(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes != 1)
    return std::nullopt;
  return findEntry([&](const Entry &entry) { return entry.dlpackCode == code && entry.bits == bits; });
}

std::optional<DType> tilec::runtime::dtypeFromTypeString(std::string_view text) {
  constexpr char foreignByteOrder = '>';
  if (text.size() < 3 || text[0] == foreignByteOrder)
    return std::nullopt;
  return findEntry([&](const Entry &entry) { return entry.typeString && text.substr(1) == entry.typeString; });
}

std::optional<DType> tilec::runtime::dtypeFromNumpyName(std::string_view name) {
  return findEntry([&](const Entry &entry) { return name == entry.numpyName; });
}
