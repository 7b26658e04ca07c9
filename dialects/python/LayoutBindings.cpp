//===- LayoutBindings.cpp - Layouts as seen from Python -------------------===//
#include "dialects/python/LayoutBindings.h"

#include "dialects/python/LayoutCAPI.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {
using Integers = std::vector<int64_t>;

void append(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

MlirStringRef ref(const std::string &text) { return {text.data(), text.size()}; }
TilecIntegers ref(const Integers &integers) { return {integers.data(), static_cast<intptr_t>(integers.size())}; }

using Operand = std::optional<std::tuple<int64_t, bool>>;
TilecOperand ref(const Operand &operand) {
  return operand ? TilecOperand{std::get<0>(*operand), std::get<1>(*operand)} : TilecOperand{0, false};
}

/// What `call(callback, userData)` gives; nothing when it gives nothing.
template <typename Call> std::optional<std::string> text(Call call) {
  std::string result;
  call(append, &result);
  return result.empty() ? std::nullopt : std::optional(result);
}

template <typename Call> std::string layoutText(Call call) {
  std::optional<std::string> result = text(call);
  if (!result)
    throw nb::value_error("not a #tilegpu.layout");
  return *result;
}
} // namespace

void tilec::bindLayouts(nb::module_ &parent) {
  nb::module_ m = parent.def_submodule("layouts", "Layouts in their textual form, for tests and tools.");
  m.def(
      "blocked",
      [](const Integers &shape, const Integers &order, int64_t vector, int64_t warps) {
        return layoutText(
            [&](auto give, void *to) { tilecLayoutBlocked(ref(shape), ref(order), vector, warps, give, to); });
      },
      nb::arg("shape"), nb::arg("order"), nb::arg("vector"), nb::arg("warps"));
  m.def(
      "mma_acc",
      [](const Integers &shape, int64_t warps, bool wholeRows, const Operand &lhs, const Operand &rhs) {
        return layoutText([&](auto give, void *to) {
          tilecLayoutMmaAcc(ref(shape), warps, wholeRows, ref(lhs), ref(rhs), give, to);
        });
      },
      nb::arg("shape"), nb::arg("warps"), nb::arg("whole_rows") = false, nb::arg("lhs") = nb::none(),
      nb::arg("rhs") = nb::none(), "lhs and rhs: (bits of an element, whether K is contiguous), of shared memory.");
  m.def(
      "wgmma_acc",
      [](const Integers &shape, int64_t warps, const Operand &lhs) {
        return layoutText([&](auto give, void *to) { tilecLayoutWgmmaAcc(ref(shape), warps, ref(lhs), give, to); });
      },
      nb::arg("shape"), nb::arg("warps"), nb::arg("lhs") = nb::none());
  m.def(
      "mma_lhs",
      [](const std::string &acc, const Integers &shape, int64_t bits) {
        return layoutText([&](auto give, void *to) { tilecLayoutMmaLhs(ref(acc), ref(shape), bits, give, to); });
      },
      nb::arg("acc"), nb::arg("shape"), nb::arg("element_bits"));
  m.def(
      "mma_rhs",
      [](const std::string &acc, const Integers &shape, int64_t bits) {
        return layoutText([&](auto give, void *to) { tilecLayoutMmaRhs(ref(acc), ref(shape), bits, give, to); });
      },
      nb::arg("acc"), nb::arg("shape"), nb::arg("element_bits"));
  m.def(
      "outer_product",
      [](const Integers &shape, int64_t warps) {
        return layoutText([&](auto give, void *to) { tilecLayoutOuterProduct(ref(shape), warps, give, to); });
      },
      nb::arg("shape"), nb::arg("warps"));
  m.def(
      "reduced",
      [](const std::string &layout, int64_t axis) {
        return layoutText([&](auto give, void *to) { tilecLayoutReduced(ref(layout), axis, give, to); });
      },
      nb::arg("layout"), nb::arg("axis"));
  m.def(
      "permuted",
      [](const std::string &layout, const Integers &order) {
        return layoutText([&](auto give, void *to) { tilecLayoutPermuted(ref(layout), ref(order), give, to); });
      },
      nb::arg("layout"), nb::arg("order"));
  m.def(
      "reshaped",
      [](const std::string &layout, const Integers &source, const Integers &result) {
        return text([&](auto give, void *to) { tilecLayoutReshaped(ref(layout), ref(source), ref(result), give, to); });
      },
      nb::arg("layout"), nb::arg("source"), nb::arg("result"), "None: a reshape would have to move elements.");
  m.def(
      "coords",
      [](const std::string &layout) {
        std::string buffer;
        TilecLayoutSizes sizes;
        if (!tilecLayoutCoords(ref(layout), &sizes, append, &buffer))
          throw nb::value_error("not a #tilegpu.layout");
        return std::tuple(nb::bytes(buffer.data(), buffer.size()), sizes.warps, sizes.registers, sizes.rank,
                          sizes.freeLaneMask, sizes.freeWarpMask);
      },
      nb::arg("layout"),
      "(int32 buffer of shape (warps, 32, registers, rank), warps, registers, rank, free lane mask, free warp mask)");
  m.def(
      "contiguity", [](const std::string &layout, int64_t dim) { return tilecLayoutContiguity(ref(layout), dim); },
      nb::arg("layout"), nb::arg("dim"));
  m.def(
      "plan_conversion",
      [](const std::string &source, const std::string &destination, int64_t bytes) {
        return layoutText(
            [&](auto give, void *to) { tilecPlanConversion(ref(source), ref(destination), bytes, give, to); });
      },
      nb::arg("source"), nb::arg("destination"), nb::arg("element_bytes"), "The plan as JSON.");
}
