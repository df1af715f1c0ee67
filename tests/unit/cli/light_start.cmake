# SPDX-License-Identifier: MIT
# `unmoor` starts faster than a C program: it loads no library at all, and has no static initialiser of iostreams.
#   cmake -DREADELF=... -DNM=... -DPROGRAM=... -P light_start.cmake
execute_process(COMMAND ${READELF} -lW ${PROGRAM} OUTPUT_VARIABLE segments COMMAND_ERROR_IS_FATAL ANY)
if(segments MATCHES "INTERP" OR NOT segments MATCHES "LOAD")
  message(FATAL_ERROR "${PROGRAM} is not linked statically: every unmount would start the dynamic loader")
endif()
execute_process(COMMAND ${NM} -C ${PROGRAM} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(symbols MATCHES "std::ios_base::Init::Init")
  message(FATAL_ERROR "iostreams are linked: something heavy has come into `unmoor`; see src/cli/verbs.h")
endif()
