# What `cmake --install` puts into a prefix: bin/cryolite, the libHalide it needs, and a CMake package whose
# cryolite_add_model compiles models in a user's build. The package can be used from the build folder too.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Cryolite)

add_executable(Cryolite::cryolite ALIAS cryolite)
set_target_properties(cryolite PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS cryolite EXPORT CryoliteTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(IMPORTED_RUNTIME_ARTIFACTS Halide::Halide LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CryoliteTargets NAMESPACE Cryolite:: DESTINATION ${package_folder})
export(EXPORT CryoliteTargets NAMESPACE Cryolite:: FILE ${CMAKE_BINARY_DIR}/CryoliteTargets.cmake)

configure_package_config_file(cmake/CryoliteConfig.cmake.in ${CMAKE_BINARY_DIR}/CryoliteConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CryoliteConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
file(COPY_FILE cmake/CryoliteAddModel.cmake ${CMAKE_BINARY_DIR}/CryoliteAddModel.cmake ONLY_IF_DIFFERENT)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/CryoliteAddModel.cmake)
install(FILES ${CMAKE_BINARY_DIR}/CryoliteConfig.cmake ${CMAKE_BINARY_DIR}/CryoliteConfigVersion.cmake
              cmake/CryoliteAddModel.cmake
        DESTINATION ${package_folder})
