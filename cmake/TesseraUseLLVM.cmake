# Beside packages of libc++ clang searches LLVM's folder by itself, and CMake would
# leave it out of the run path, in which the loader looks for MLIR.
foreach(language C CXX)
  list(REMOVE_ITEM CMAKE_${language}_IMPLICIT_LINK_DIRECTORIES ${LLVM_LIBRARY_DIRS})
endforeach()

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
  set(includes "")
  set(folders ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    # Packages of libc++ put its headers beside LLVM's, where they would come
    # before those of the C++ library in use. A folder of links has LLVM's alone.
    if(EXISTS ${folder}/cxxabi.h)
      set(links ${CMAKE_BINARY_DIR}/llvm-include)
      file(MAKE_DIRECTORY ${links})
      foreach(part llvm llvm-c mlir mlir-c lld)
        if(EXISTS ${folder}/${part})
          file(CREATE_LINK ${folder}/${part} ${links}/${part} SYMBOLIC)
        endif()
      endforeach()
      set(folder ${links})
    endif()
    list(APPEND includes ${folder})
  endforeach()
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
