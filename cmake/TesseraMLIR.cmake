# MLIR and LLVM 22 from the distribution's packages, the shared precompiled
# header, and the functions that every folder of the compiler uses.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# The package refuses a plain "22": it wants major.minor.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
option(TESSERA_PORTABLE "Tools that need libc and libm alone" OFF)
if(TESSERA_PORTABLE)
  include(TesseraPortable)
  set(TESSERA_MLIR_ARCHIVES ON)
endif()
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# What compiles and links with MLIR: its flags, its headers, our include roots. In
# an installed tree TesseraConfig.cmake adds those of the LLVM found there.
add_library(TesseraMLIR INTERFACE)
target_include_directories(TesseraMLIR INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:include/tessera>)
include(TesseraUseLLVM)
tessera_use_llvm(compile_options include_dirs libraries)
target_compile_options(TesseraMLIR INTERFACE "$<BUILD_INTERFACE:${compile_options}>")
target_include_directories(TesseraMLIR SYSTEM INTERFACE
                           "$<BUILD_INTERFACE:${include_dirs}>")
target_link_libraries(TesseraMLIR INTERFACE "$<BUILD_INTERFACE:${libraries}>")
set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES TesseraMLIR)

# One precompiled header for all. Its first header pins the library's ABI.
file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "namespace {}\n")
add_library(tessera_pch STATIC ${PROJECT_BINARY_DIR}/pch.cpp)
target_link_libraries(tessera_pch PRIVATE TesseraMLIR)
target_precompile_headers(tessera_pch PRIVATE
  ${PROJECT_SOURCE_DIR}/include/tessera/Support/LLVMAbi.h
  [["mlir/Dialect/Arith/IR/Arith.h"]]
  [["mlir/Dialect/Func/IR/FuncOps.h"]]
  [["mlir/Dialect/Linalg/IR/Linalg.h"]]
  [["mlir/Dialect/Math/IR/Math.h"]]
  [["mlir/Dialect/Tensor/IR/Tensor.h"]]
  [["mlir/IR/Remarks.h"]]
  [["mlir/Pass/Pass.h"]]
  [["mlir/Pass/PassManager.h"]]
  [["mlir/Transforms/GreedyPatternRewriteDriver.h"]]
  [["llvm/ADT/MapVector.h"]]
  [["llvm/ADT/SmallBitVector.h"]]
  [["llvm/ADT/StringExtras.h"]]
  [["llvm/ADT/TypeSwitch.h"]]
  <functional> <memory> <optional> <string> <vector>)

option(TESSERA_UNITY "Compile the sources of a library eight at a time" ON)

set(TESSERA_TABLEGEN_INCLUDES ${include_dirs} ${PROJECT_SOURCE_DIR}
                              ${PROJECT_SOURCE_DIR}/include)
# tessera_tablegen(FILE flags...): mlir_tablegen with the include directories.
macro(tessera_tablegen)
  mlir_tablegen(${ARGV} EXTRA_INCLUDES ${TESSERA_TABLEGEN_INCLUDES})
endmacro()

add_custom_target(tessera_headers)
# The reference of dialects and passes, in build/docs/.
add_custom_target(tessera-docs)

# tessera_doc(Passes/Partition generator-flags...): docs/<name>.md of the current
# LLVM_TARGET_DEFINITIONS.
function(tessera_doc name)
  string(MAKE_C_IDENTIFIER ${name} id)
  tablegen(MLIR ${id}.md ${ARGN} EXTRA_INCLUDES ${TESSERA_TABLEGEN_INCLUDES})
  set(output ${PROJECT_BINARY_DIR}/docs/${name}.md)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_BINARY_DIR}/${id}.md ${output}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${id}.md)
  add_custom_target(tessera_doc_${id} DEPENDS ${output})
  add_dependencies(tessera-docs tessera_doc_${id})
endfunction()

# tessera_library(NAME dependencies...): a static library of every .cpp file of
# the calling folder. MLIR and LLVM come as the two shared libraries; naming a
# static MLIR archive would give a second copy of every TypeID.
function(tessera_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TESSERA_UNITY}
                        UNITY_BUILD_BATCH_SIZE 8)
  add_dependencies(${name} tessera_headers)
  target_link_libraries(${name} PUBLIC ${ARGN} TesseraMLIR)
  target_precompile_headers(${name} REUSE_FROM tessera_pch)
  set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES ${name})
endfunction()

# tessera_passes(Lib): declarations of include/tessera/<Lib>/Passes.td.
function(tessera_passes lib)
  set(LLVM_TARGET_DEFINITIONS ${lib}/Passes.td)
  tessera_tablegen(${lib}/Passes.h.inc -gen-pass-decls -name=${lib})
  tessera_doc(passes/${lib} -gen-pass-doc)
  add_public_tablegen_target(Tessera${lib}PassesIncGen)
  add_dependencies(tessera_headers Tessera${lib}PassesIncGen)
endfunction()

# tessera_dialect(NN nn): the generated files of dialects/<NN>/<NN>.td.
function(tessera_dialect folder name)
  set(LLVM_TARGET_DEFINITIONS ${folder}.td)
  tessera_tablegen(${folder}Dialect.h.inc -gen-dialect-decls -dialect=${name})
  tessera_tablegen(${folder}Dialect.cpp.inc -gen-dialect-defs -dialect=${name})
  tessera_tablegen(${folder}Enums.h.inc -gen-enum-decls)
  tessera_tablegen(${folder}Enums.cpp.inc -gen-enum-defs)
  tessera_tablegen(${folder}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${name})
  tessera_tablegen(${folder}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${name})
  tessera_tablegen(${folder}Types.h.inc -gen-typedef-decls -typedefs-dialect=${name})
  tessera_tablegen(${folder}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${name})
  tessera_tablegen(${folder}Ops.h.inc -gen-op-decls -dialect=${name})
  tessera_tablegen(${folder}Ops.cpp.inc -gen-op-defs -dialect=${name})
  tessera_doc(dialects/${folder} -gen-dialect-doc -dialect=${name})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}Interfaces.td)
    set(LLVM_TARGET_DEFINITIONS ${folder}Interfaces.td)
    tessera_tablegen(${folder}Interfaces.h.inc -gen-op-interface-decls)
    tessera_tablegen(${folder}Interfaces.cpp.inc -gen-op-interface-defs)
  endif()
  add_public_tablegen_target(Tessera${folder}IncGen)
  add_dependencies(tessera_headers Tessera${folder}IncGen)
endfunction()
