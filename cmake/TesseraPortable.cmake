# TESSERA_PORTABLE: tools of LLVM's and MLIR's archives, which need libc and libm
# alone and run wherever glibc is 2.34 or newer.
#
# The targets of the packages lead to shared libraries, wherever they are named.
# Here they lead to archives.

# tessera_use_archive(TARGET ARCHIVE libraries...)
function(tessera_use_archive target archive)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION_${configuration} ${archive})
    set_property(TARGET ${target} PROPERTY IMPORTED_SONAME_${configuration})
  endforeach()
  set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION ${archive})
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${ARGN})
endfunction()

find_library(TESSERA_ZLIB_ARCHIVE libz.a REQUIRED)
find_library(TESSERA_ZSTD_ARCHIVE libzstd.a REQUIRED)
tessera_use_archive(ZLIB::ZLIB ${TESSERA_ZLIB_ARCHIVE})
tessera_use_archive(zstd::libzstd_shared ${TESSERA_ZSTD_ARCHIVE})

# A linker takes of archives what is used.
set(archives ${LLVM_AVAILABLE_LIBS})
list(FILTER archives INCLUDE REGEX "^LLVM")
# These would bring other libraries.
list(REMOVE_ITEM archives LLVM LLVMSupport LLVMDebuginfod LLVMLineEditor
     LLVMInterpreter LLVMWindowsManifest LLVMPolly)
list(FILTER archives EXCLUDE REGEX "^LLVMExegesis")
tessera_use_archive(LLVMSupport ${LLVM_LIBRARY_DIRS}/libLLVMSupport.a
  LLVMDemangle ZLIB::ZLIB zstd::libzstd_shared rt dl m)
tessera_use_archive(LLVMExtensions ${LLVM_LIBRARY_DIRS}/libLLVMExtensions.a LLVMSupport)
tessera_use_archive(LLVM ${LLVM_LIBRARY_DIRS}/libLLVMSupport.a LLVMSupport ${archives})

# Callers of the initializers of all of LLVM's targets would bring all of them.
set(TESSERA_OTHER_TARGETS ${PROJECT_BINARY_DIR}/OtherTargets.c)
set(text "/* Initializers of targets for which nothing is compiled. */\n")
foreach(target ${LLVM_TARGETS_TO_BUILD})
  if(NOT target MATCHES "^(X86|NVPTX)$")
    foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
      string(APPEND text "void LLVMInitialize${target}${part}(void) {}\n")
    endforeach()
  endif()
endforeach()
file(CONFIGURE OUTPUT ${TESSERA_OTHER_TARGETS} CONTENT "${text}" @ONLY)

# tessera_make_portable(TOOL)
function(tessera_make_portable tool)
  set(folder ${PROJECT_SOURCE_DIR}/tools/common/portable)
  set(sources ${TESSERA_OTHER_TARGETS} ${folder}/NoPolly.cpp ${folder}/OlderLibc.c)
  target_sources(${tool} PRIVATE ${sources})
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_link_options(${tool} PRIVATE -fuse-ld=lld -static-libstdc++ -static-libgcc
    --rtlib=compiler-rt --unwindlib=libunwind -Wl,--as-needed -Wl,--gc-sections
    -Wl,--wrap=hypot -s)
endfunction()
