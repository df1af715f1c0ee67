# SPDX-License-Identifier: MIT
# `unmoor` starts like a C program: it loads libc and nothing else, and has no static initialiser of iostreams.
#   cmake -DREADELF=... -DNM=... -DPROGRAM=... -P light_start.cmake
execute_process(COMMAND ${READELF} -dW ${PROGRAM} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${dynamic}")
foreach(line ${needed})
  if(NOT line MATCHES "\\[(libc\\.so\\.[0-9]+|ld-linux[^]]*)\\]")
    message(FATAL_ERROR "a library that every unmount would load: ${line}")
  endif()
endforeach()
execute_process(COMMAND ${NM} -C ${PROGRAM} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(symbols MATCHES "std::ios_base::Init::Init")
  message(FATAL_ERROR "iostreams are linked: something heavy has come into `unmoor`; see src/cli/verbs.h")
endif()
