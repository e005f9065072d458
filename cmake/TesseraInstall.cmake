# cmake --install build --component development: the libraries, their headers, and
# a package for find_package(Tessera). tools/ and runtime/ install themselves.
include(CMakePackageConfigHelpers)

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
        ARCHIVE DESTINATION lib/tessera COMPONENT development)
set(package lib/cmake/Tessera)
install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package}
        COMPONENT development)

# One include root, in which files are included as in the source tree.
foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${root}/include/tessera ${root}/dialects
          DESTINATION include/tessera COMPONENT development
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.h.inc"
          PATTERN CMakeFiles EXCLUDE)
endforeach()
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
