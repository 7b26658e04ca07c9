//===- TilecExtension.cpp - The compiler as seen from Python --------------===//
#include "dialects/python/CAPI.h"
#include "dialects/python/LayoutBindings.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {
void append(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

MlirStringRef ref(const nb::bytes &bytes) { return {bytes.c_str(), bytes.size()}; }
MlirStringRef ref(const std::string &text) { return {text.data(), text.size()}; }
} // namespace

NB_MODULE(_tilec, m) {
  m.doc() = "tilec's compiler: bytecode of a `tile` module in, PTX and a launch plan out";
  tilec::bindLayouts(m);
  m.def(
      "compile_json",
      [](const nb::bytes &bytecode, const std::string &options) {
        std::string result;
        MlirStringRef module = ref(bytecode);
        nb::gil_scoped_release unlocked;
        tilecCompile(module, ref(options), append, &result);
        return result;
      },
      nb::arg("bytecode"), nb::arg("options"),
      "Compile a module; returns the JSON text described in dialects/Target/Compile.h.");
  m.def(
      "ir_key",
      [](const nb::bytes &bytecode) {
        std::string result;
        tilecIrKey(ref(bytecode), append, &result);
        if (result.empty())
          throw nb::value_error("not a module of the tile dialect");
        return result;
      },
      nb::arg("bytecode"), "SHA-256 of the canonical module without locations, in hexadecimal.");
  m.def(
      "summarize",
      [](const nb::bytes &bytecode) {
        std::string result;
        tilecSummarize(ref(bytecode), append, &result);
        if (result.empty())
          throw nb::value_error("not a module of the tile dialect");
        return result;
      },
      nb::arg("bytecode"), "What a plan of tiles needs to know of a kernel: see dialects/Plan/Summary.h.");
  m.def(
      "print_module",
      [](const nb::bytes &bytecode, bool locations) {
        std::string result;
        tilecPrint(ref(bytecode), locations, append, &result);
        if (result.empty())
          throw nb::value_error("not a module of the tile dialect");
        return result;
      },
      nb::arg("bytecode"), nb::arg("locations") = false, "The textual form of a module.");
  m.def(
      "opt_main",
      [](std::vector<std::string> arguments) {
        std::vector<char *> pointers;
        for (std::string &argument : arguments)
          pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        return tilecOptMain(static_cast<int>(arguments.size()), pointers.data());
      },
      nb::arg("arguments"), "Run tilec-opt with these arguments (the program's name first); returns its exit code.");
}
