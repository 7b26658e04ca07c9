# Declares only those of upstream's operations that are used here.
#
# The headers of these dialects declare many hundreds of operations, and to parse them costs more
# than all of our own code. tablegen writes each list of declarations again, for some operations
# only; such a list stands in for upstream's of the same name, since it is found first. To use
# another operation, add it to its line in CMakeLists.txt: "is not a member of" means it is missing.

set(narrowed "${CMAKE_CURRENT_BINARY_DIR}/upstream")
include_directories(BEFORE "${narrowed}")
get_target_property(tablegen ${MLIR_TABLEGEN_EXE} LOCATION)

# tilec_declare_only(path of the dialect's definitions, operations…)
function(tilec_declare_only ops)
  set(file "mlir/Dialect/${ops}")
  foreach(include ${MLIR_INCLUDE_DIRS})
    if(EXISTS "${include}/${file}.td")
      set(definitions "${include}/${file}.td")
    endif()
  endforeach()
  list(JOIN ARGN "|" names)
  string(REPLACE "." "[.]" names "${names}")
  list(TRANSFORM MLIR_INCLUDE_DIRS PREPEND "-I" OUTPUT_VARIABLE includes)
  cmake_path(GET file PARENT_PATH directory)
  file(MAKE_DIRECTORY "${narrowed}/${directory}")
  execute_process(
    COMMAND "${tablegen}" -gen-op-decls "--op-include-regex=^(${names})$" ${includes}
      --write-if-changed "${definitions}" -o "${narrowed}/${file}.h.inc"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
