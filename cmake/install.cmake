# SPDX-License-Identifier: MIT
install(TARGETS unmoor_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
