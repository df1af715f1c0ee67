# SPDX-License-Identifier: MIT
# Mutants: the tree with one line wrong. unmoor-fuzz has to find each within 20,000 operations.
#
# unmoor_mutant(NAME SOURCE RIGHT WRONG): SOURCE of src/tree with the text RIGHT, which it has exactly once, replaced.
function(unmoor_mutant name source right wrong)
  set(original ${PROJECT_SOURCE_DIR}/src/tree/${source})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} text)
  string(FIND "${text}" "${right}" first)
  string(FIND "${text}" "${right}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "mutant ${name}: ${source} does not have this once: ${right}")
  endif()
  string(REPLACE "${right}" "${wrong}" text "${text}")
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cpp)
  file(CONFIGURE OUTPUT ${mutated} CONTENT "@text@" @ONLY)
  add_executable(unmoor_mutant_${name} fuzz_main.cpp ${mutated}
    $<FILTER:$<TARGET_OBJECTS:unmoor_tree>,EXCLUDE,/${source}.o$>)
  target_include_directories(unmoor_mutant_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(unmoor_mutant_${name} PRIVATE -w)
  target_link_libraries(unmoor_mutant_${name} PRIVATE unmoor_differential unmoor_tree_runner_objects unmoor_tree_script
                                                      unmoor_rcu unmoor_kernel fmt::fmt)
  add_test(NAME mutant.${name} COMMAND unmoor_mutant_${name} -n 20000 -j 2 -1)
  # Found: 1. Where nothing can be mounted, the fuzzer says so with 77.
  set_tests_properties(mutant.${name} PROPERTIES LABELS kernel TIMEOUT 120 SKIP_RETURN_CODE 77
                       PASS_REGULAR_EXPRESSION "operations, [1-9][0-9]* divergences")
endfunction()

find_package(fmt REQUIRED)
# The runner without the tree that it would bring along.
add_library(unmoor_tree_runner_objects INTERFACE)
target_sources(unmoor_tree_runner_objects INTERFACE $<TARGET_OBJECTS:unmoor_tree_runner>)

unmoor_mutant(drops_a_peer propagate_mount.cpp
  "if (!needs_copy(receiver, place)) {" "if (!needs_copy(receiver, place) || receiver == next_peer(destination)) {")
unmoor_mutant(skips_a_reparent propagate_umount.cpp
  "if (cover != nullptr && !goes(cover)) slide_down(lock, cover);" "static_cast<void>(cover);")
unmoor_mutant(loses_the_lock attach.cpp "if (m != top) locks |= kLocked;" "")
unmoor_mutant(loses_an_attribute_lock attach.cpp "locks |= kLockNoSuid;" "locks |= 0U;")
unmoor_mutant(forgets_the_heir propagation.cpp
  "hand_over_slaves(mount, mount->master);" "hand_over_slaves(mount, nullptr);")
unmoor_mutant(does_not_unlock_cognates propagate_umount.cpp
  "if (mount == top) child->lower(mount_flag::kLocked);" "static_cast<void>(top);")
unmoor_mutant(ignores_busy_peers propagate_umount.cpp "if (child->counts.sum() > 1) return true;" "")
unmoor_mutant(expires_parents umount.cpp "!target->children.empty() || target->counts" "target->counts")
unmoor_mutant(copies_unbindable clone.cpp "if (!how.copy_unbindable && m->unbindable()) {" "if (false) {")
unmoor_mutant(reveals_what_was_locked propagate_umount.cpp
  "} else if (!mount->has(mount_flag::kLocked) && mount->children.empty()) {" "} else if (mount->children.empty()) {")
