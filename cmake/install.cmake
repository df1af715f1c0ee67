# SPDX-License-Identifier: MIT
install(TARGETS unmoor_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS unmoor_verbs RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/unmoor)
install(FILES completion/unmoor DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
