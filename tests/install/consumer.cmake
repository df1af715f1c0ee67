# SPDX-License-Identifier: MIT
# Copied to CMakeLists.txt by install_test.sh: a project that knows nothing of ours but its package.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(unmoor 0.1 REQUIRED)
foreach(kind "" -static)
  add_executable(uses_detach${kind} uses_detach.c)
  target_link_libraries(uses_detach${kind} PRIVATE unmoor::unmoor${kind})
  add_executable(uses_tree${kind} uses_tree.cpp)
  target_link_libraries(uses_tree${kind} PRIVATE unmoor::tree${kind})
endforeach()
