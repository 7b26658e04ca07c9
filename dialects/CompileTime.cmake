# What is parsed once instead of in each file: the headers of MLIR, and, in an installation, the
# files of a library.

option(TILEC_JOIN_FILES "Compile the files of a library as a few: a third faster, unless one of them changes" OFF)

# ccache takes compilations with a precompiled header if told that the header's own times and macros
# do not matter, and if the compiler writes no time into it.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  add_compile_options(
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Compiles a directory's libraries with the precompiled header. The first of all compiles the header,
# so it has their flags; Python extensions have others and stay without.
function(tilec_precompile directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^obj\\.Tilec")
  foreach(target ${targets})
    get_property(owner GLOBAL PROPERTY tilec_precompiled_by)
    if(owner)
      target_precompile_headers(${target} REUSE_FROM ${owner})
    else()
      set_property(GLOBAL PROPERTY tilec_precompiled_by ${target})
      target_precompile_headers(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/pch.h")
    endif()
  endforeach()
endfunction()

# Joins the files of a directory's libraries, where that is asked for.
function(tilec_join_files directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^obj\\.Tilec")
  set_target_properties(${targets} PROPERTIES UNITY_BUILD ${TILEC_JOIN_FILES} UNITY_BUILD_BATCH_SIZE 7)
endfunction()
