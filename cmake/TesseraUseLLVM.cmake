# tessera_use_llvm(OPTIONS INCLUDES): the compile options and include directories
# that sources need which use the MLIR found. Also a part of the installed package.
function(tessera_use_llvm options_variable includes_variable)
  separate_arguments(options NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  if(NOT LLVM_ENABLE_RTTI)
    list(APPEND options -fno-rtti)
  endif()
  # An LLVM with assertions has the layout that sources without NDEBUG expect.
  if(LLVM_ENABLE_ASSERTIONS)
    list(APPEND options -DTESSERA_LLVM_ASSERTIONS)
  endif()
  set(includes ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  list(REMOVE_DUPLICATES includes)
  set(${options_variable} "${options}" PARENT_SCOPE)
  set(${includes_variable} "${includes}" PARENT_SCOPE)
endfunction()
