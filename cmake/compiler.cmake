# SPDX-License-Identifier: MIT
# One place for everything the compiler is told.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(UNMOOR_CCACHE ccache)
if(UNMOOR_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${UNMOOR_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${UNMOOR_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wimplicit-fallthrough -Wundef
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety -Wthread-safety-beta)
endif()
add_compile_definitions(_GNU_SOURCE)

set(UNMOOR_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
if(UNMOOR_SANITIZE)
  add_compile_options(-fsanitize=${UNMOOR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${UNMOOR_SANITIZE})
endif()

find_package(Threads REQUIRED)

# A room of the house: an object library named unmoor_<room>, which sees include/ and src/.
function(unmoor_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(unmoor_${name} OBJECT ${ROOM_SOURCES})
  target_include_directories(unmoor_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  foreach(used ${ROOM_USES})
    target_link_libraries(unmoor_${name} PUBLIC ${used})
  endforeach()
endfunction()
