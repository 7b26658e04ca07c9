# Headers compiled once for many libraries.

# ccache takes compilations with a precompiled header if told that the header's own times and macros
# do not matter, and if the compiler writes no time into it.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  add_compile_options(
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Gives the libraries of some directories a header. One of them compiles it, so it has their flags;
# Python extensions have others and stay without.
function(tilec_precompile header)
  foreach(directory ${ARGN})
    get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
    list(FILTER targets INCLUDE REGEX "^obj\\.Tilec")
    foreach(target ${targets})
      if(owner)
        target_precompile_headers(${target} REUSE_FROM ${owner})
      else()
        set(owner ${target})
        target_precompile_headers(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
      endif()
    endforeach()
  endforeach()
endfunction()
