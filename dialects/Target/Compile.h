//===- Compile.h - Bytecode to PTX, contained -------------------*- C++ -*-===//
#ifndef TILEC_TARGET_COMPILE_H
#define TILEC_TARGET_COMPILE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilec {

/// Compiles a module of one `tile.kernel`. `options` is a JSON object:
///   target      {"name": "sm_90a", "ptx": 80, "features": ["wgmma", …], …}, from compiler/target.py
///   phases      names among "tile", "tilegpu", "llvm" whose text is wanted
///   num_warps, num_stages   the author's hints, or null
///   plan        decisions of a tile plan, or absent (docs/notes/interfaces.md, section 10)
///   fault       "abort" | "segv" | "hang": a testing hook, fails on purpose inside a pass
/// Returns a JSON object with "status":
///   "ok"     ptx, plan, phases, timings_ms
///   "error"  diagnostics: [{severity, message, locations: [{file, line, column, name}]}]
///   "fault"  message, phase: the compiler itself failed; it stays usable
std::string compile(llvm::StringRef bytecode, llvm::StringRef options);

/// Digest of the canonical module without locations: equal kernels share it, whatever file and
/// line they came from. Empty when the module does not parse.
std::string irKey(llvm::StringRef bytecode);

/// What a plan of tiles needs to know of a kernel: the JSON text described in dialects/Plan/Summary.h. Empty when the
/// module does not parse.
std::string summarize(llvm::StringRef bytecode);

/// The textual form of a module, with or without locations. Empty when it does not parse.
std::string print(llvm::StringRef bytecode, bool locations);

/// MlirOptMain with our dialects and passes.
int optMain(int argc, char **argv);

} // namespace tilec

#endif // TILEC_TARGET_COMPILE_H
