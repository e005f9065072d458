# tessera_use_llvm(OPTIONS INCLUDES LIBRARIES): the compile options, include
# directories and libraries that sources need which use the MLIR found. Also a part
# of the installed package.
function(tessera_use_llvm options_variable includes_variable libraries_variable)
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
  # A program has MLIR once: a project that links its archives says so, and one
  # whose MLIR has no shared library links them anyway.
  if(TARGET MLIR AND NOT TESSERA_MLIR_ARCHIVES)
    set(libraries MLIR LLVM)
  else()
    set(libraries MLIRRegisterAllDialects MLIRRegisterAllExtensions
                  MLIRRegisterAllPasses MLIRToLLVMIRTranslationRegistration
                  MLIROptLib MLIRLspServerLib)
  endif()
  set(${libraries_variable} "${libraries}" PARENT_SCOPE)
  set(${options_variable} "${options}" PARENT_SCOPE)
  set(${includes_variable} "${includes}" PARENT_SCOPE)
endfunction()
