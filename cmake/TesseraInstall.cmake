# cmake --install build --component development: the libraries, their headers, and
# a package for find_package(Tessera). tools/ and runtime/ install themselves.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# What an embedder links beside Tessera::Partitioner.
add_library(TesseraCompiler INTERFACE)
target_link_libraries(TesseraCompiler INTERFACE TesseraRegistration)
set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES TesseraCompiler)

# An archive TesseraNN is the target Tessera::NN.
get_property(libraries GLOBAL PROPERTY TESSERA_LIBRARIES)
foreach(library ${libraries})
  string(REGEX REPLACE "^Tessera" "" export ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${export})
  add_library(Tessera::${export} ALIAS ${library})
endforeach()
install(TARGETS ${libraries} EXPORT TesseraTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera COMPONENT development)
# The C API is one shared library, Tessera::C.
set_target_properties(TesseraC PROPERTIES EXPORT_NAME C)
add_library(Tessera::C ALIAS TesseraC)
install(TARGETS TesseraC EXPORT TesseraTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tools
        NAMELINK_COMPONENT development)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package}
        COMPONENT development)

# One include root, in which files are included as in the source tree.
foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${root}/include/tessera ${root}/dialects
          DESTINATION include/tessera COMPONENT development
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.h.inc"
          PATTERN CMakeFiles EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera-c
        DESTINATION include/tessera COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include
        DESTINATION include/tessera/runtime COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/TesseraConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/TesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/TesseraConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/TesseraConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/TesseraUseLLVM.cmake
        DESTINATION ${package} COMPONENT development)

# cpack in the build folder: the Debian packages tessera and libtessera-dev.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_VENDOR Tessera)
  set(CPACK_PACKAGE_CONTACT "Tessera developers")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL tools development)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tessera)
  # Host programs are linked by the tool, those for GPUs by a compiler.
  if(TARGET tessera_rt_host_libcxx)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "clang-22 | g++")
  else()
    set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "clang-22 | g++")
  endif()
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION
      "Partitions transformers over devices: tools and the runtime of programs")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtessera-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
      "tessera (= ${PROJECT_VERSION}), libmlir-22-dev, mlir-22-tools")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
      "Partitions transformers over devices: libraries, headers and CMake package")
  include(CPack)
endif()
