//===- nvjitlink.cpp - Assembling PTX in this process
//----------------------===//

#include "nvjitlink.h"

#include <dlfcn.h>

#include <stdexcept>

using namespace tilec::runtime;

namespace {

constexpr const char *libraryName = "libnvJitLink.so.13";
constexpr int inputPtx = 2;

void *openLibrary(const std::string &path) {
  if (void *loaded = dlopen(libraryName, RTLD_NOW | RTLD_NOLOAD))
    return loaded;
  if (!path.empty())
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  if (void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL))
    return library;
  throw std::runtime_error(std::string("cannot load the assembler ") + libraryName + ": " + dlerror());
}

template <typename Function> void find(void *library, const char *name, Function &out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (!out)
    throw std::runtime_error(std::string(libraryName) + " lacks " + name);
}

} // namespace

JitLinker &JitLinker::get(const std::string &path) {
  static JitLinker *linker = new JitLinker(openLibrary(path));
  return *linker;
}

JitLinker::JitLinker(void *library) {
  int (*getVersion)(unsigned *, unsigned *) = nullptr;
  find(library, "nvJitLinkVersion", getVersion);
  find(library, "nvJitLinkCreate", create);
  find(library, "nvJitLinkDestroy", destroy);
  find(library, "nvJitLinkAddData", addData);
  find(library, "nvJitLinkComplete", complete);
  find(library, "nvJitLinkGetLinkedCubinSize", cubinSize);
  find(library, "nvJitLinkGetLinkedCubin", cubin);
  find(library, "nvJitLinkGetErrorLogSize", errorLogSize);
  find(library, "nvJitLinkGetErrorLog", errorLog);
  find(library, "nvJitLinkGetInfoLogSize", infoLogSize);
  find(library, "nvJitLinkGetInfoLog", infoLog);
  getVersion(&major, &minor);
}

std::string JitLinker::fetch(Handle handle, GetSize size, GetText text) const {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0)
    return {};
  std::string result(bytes, '\0');
  if (text(handle, result.data()) != 0)
    return {};
  while (!result.empty() && result.back() == '\0')
    result.pop_back();
  return result;
}

JitLinker::Result JitLinker::link(const std::string &ptx, const std::vector<std::string> &options) const {
  std::vector<const char *> raw;
  raw.reserve(options.size());
  for (const std::string &option : options)
    raw.push_back(option.c_str());

  Result result{};
  Handle handle = nullptr;
  result.status = create(&handle, static_cast<uint32_t>(raw.size()), raw.data());
  if (result.status != 0) {
    // A refused option leaves a handle whose log says which one it was.
    if (handle) {
      result.errorLog = fetch(handle, errorLogSize, errorLog);
      destroy(&handle);
    }
    return result;
  }
  result.status = addData(handle, inputPtx, ptx.data(), ptx.size(), "kernel");
  if (result.status == 0)
    result.status = complete(handle);
  result.errorLog = fetch(handle, errorLogSize, errorLog);
  result.infoLog = fetch(handle, infoLogSize, infoLog);
  size_t bytes = 0;
  if (result.status == 0)
    result.status = cubinSize(handle, &bytes);
  if (result.status == 0) {
    result.cubin.resize(bytes);
    result.status = cubin(handle, result.cubin.data());
  }
  destroy(&handle);
  return result;
}
