# SPDX-License-Identifier: MIT
# Compiling for another processor on a machine that has only its own processor's libraries: fmt, CLI11 and nlohmann-json
# are taken as headers from /usr/include, behind everything the cross compiler brings of its own (-idirafter: the C
# library's headers there are this machine's, and must never be found first).
set(headers /usr/include)
foreach(header fmt/format.h CLI/CLI.hpp nlohmann/json.hpp libmount/libmount.h)
  if(NOT EXISTS ${headers}/${header})
    message(FATAL_ERROR "${headers}/${header} is missing: scripts/packages.sh install build")
  endif()
endforeach()
add_compile_options(-idirafter ${headers})

# The packages' own CMake files name this machine's libraries; what find_package() finds instead stands here.
set(stand_ins ${CMAKE_BINARY_DIR}/cross)
function(header_only package definitions)
  set(text "")
  foreach(target IN LISTS ARGN)
    string(APPEND text "if(NOT TARGET ${target})\n  add_library(${target} INTERFACE IMPORTED)\n"
           "  target_compile_definitions(${target} INTERFACE ${definitions})\nendif()\n")
  endforeach()
  file(WRITE ${stand_ins}/${package}Config.cmake "${text}")
  set(${package}_DIR ${stand_ins} CACHE PATH "" FORCE)
endfunction()
header_only(fmt FMT_HEADER_ONLY=1 fmt::fmt fmt::fmt-header-only)
header_only(CLI11 "" CLI11::CLI11)
header_only(nlohmann_json "" nlohmann_json::nlohmann_json)
