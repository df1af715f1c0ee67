# SPDX-License-Identifier: MIT
# What `make install` puts where. The libraries' own rooms name their targets; here are the files that make them usable.
include(CMakePackageConfigHelpers)

install(TARGETS unmoor_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "file(CREATE_LINK unmoor \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/unmoor-crun\" SYMBOLIC)")
install(TARGETS unmoor_umount_program unmoor_verbs unmoor_hold RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/unmoor)
install(FILES completion/unmoor DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

install(TARGETS unmoor_shared unmoor_static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/unmoor/unmoor.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/unmoor)

# Both kinds of file find the prefix from where they lie, so that `cmake --install --prefix` may choose another.
set(UNMOOR_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH UNMOOR_PREFIX_FROM_PKGCONFIG /prefix/${UNMOOR_PKGCONFIG_DIR} /prefix)
foreach(name unmoor unmoor-tree)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${UNMOOR_PKGCONFIG_DIR})
endforeach()

set(UNMOOR_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/unmoor)
configure_package_config_file(cmake/unmoor-config.cmake.in ${PROJECT_BINARY_DIR}/unmoor-config.cmake
  INSTALL_DESTINATION ${UNMOOR_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unmoor-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/unmoor-config.cmake ${PROJECT_BINARY_DIR}/unmoor-config-version.cmake
  DESTINATION ${UNMOOR_PACKAGE_DIR})
