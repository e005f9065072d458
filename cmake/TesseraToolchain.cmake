# Compiler, build types, ccache and output folders: what the runtime and the
# compiler share. Nothing here mentions LLVM.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Dev (asserts, -O1) or Release" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -gdwarf-4 -g1")
set(CMAKE_C_FLAGS_DEV "-O1 -gdwarf-4 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# -fPIC as a plain flag: CMAKE_POSITION_INDEPENDENT_CODE would give programs
# -fPIE and libraries -fPIC, and clang shares no precompiled header across them.
# Objects name no folder of the machine that compiled them.
add_compile_options(-fPIC -fno-exceptions -Wall -Wextra -Wno-unused-parameter
                    -Wno-comment -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
                    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  add_link_options(-fuse-ld=lld)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CCACHE})
endif()

set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(TESSERA_COVERAGE "Count how often each line runs" OFF)
option(TESSERA_FUZZ "Build fuzz targets for libFuzzer" OFF)

# Applies the options above to the targets that follow.
function(tessera_instrument)
  if(TESSERA_SANITIZE)
    add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-sanitize=vptr
                        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TESSERA_SANITIZE})
  endif()
  if(TESSERA_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  if(TESSERA_COVERAGE)
    add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
    add_link_options(-fprofile-instr-generate)
  endif()
endfunction()
