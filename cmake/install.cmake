# SPDX-License-Identifier: MIT
install(TARGETS unmoor_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES completion/unmoor DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
