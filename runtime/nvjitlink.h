//===- nvjitlink.h - Assembling PTX in this process
//------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilec::runtime {

/// The nvJitLink library: PTX in, cubin out. An already loaded
/// libnvJitLink.so.13 wins (two copies in one process would disagree about
/// their own symbols), then `path`, then the loader's search.
class JitLinker {
public:
  /// Throws std::runtime_error when the library cannot be found.
  static JitLinker &get(const std::string &path);

  std::pair<unsigned, unsigned> version() const { return {major, minor}; }

  struct Result {
    int status;
    std::string cubin;
    std::string errorLog;
    std::string infoLog;
  };

  /// Assembles one PTX module. Touches no Python object: call it without the
  /// GIL.
  Result link(const std::string &ptx, const std::vector<std::string> &options) const;

private:
  explicit JitLinker(void *library);

  using Handle = void *;
  using GetSize = int (*)(Handle, size_t *);
  using GetText = int (*)(Handle, char *);
  std::string fetch(Handle handle, GetSize size, GetText text) const;

  unsigned major = 0, minor = 0;
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  GetSize cubinSize = nullptr, errorLogSize = nullptr, infoLogSize = nullptr;
  GetText errorLog = nullptr, infoLog = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
};

} // namespace tilec::runtime
