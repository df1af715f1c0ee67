// SPDX-License-Identifier: MIT
// Names for clang's thread-safety attributes (-Wthread-safety). Other compilers see nothing.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#if defined(__clang__)
#define UNMOOR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define UNMOOR_THREAD_ATTRIBUTE(x)
#endif

#define UNMOOR_CAPABILITY(name) UNMOOR_THREAD_ATTRIBUTE(capability(name))
#define UNMOOR_SCOPED_CAPABILITY UNMOOR_THREAD_ATTRIBUTE(scoped_lockable)
#define UNMOOR_GUARDED_BY(lock) UNMOOR_THREAD_ATTRIBUTE(guarded_by(lock))
#define UNMOOR_PT_GUARDED_BY(lock) UNMOOR_THREAD_ATTRIBUTE(pt_guarded_by(lock))
#define UNMOOR_REQUIRES(...) UNMOOR_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define UNMOOR_REQUIRES_SHARED(...) UNMOOR_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define UNMOOR_ACQUIRE(...) UNMOOR_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define UNMOOR_ACQUIRE_SHARED(...) UNMOOR_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define UNMOOR_RELEASE(...) UNMOOR_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define UNMOOR_RELEASE_SHARED(...) UNMOOR_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define UNMOOR_TRY_ACQUIRE(...) UNMOOR_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define UNMOOR_EXCLUDES(...) UNMOOR_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define UNMOOR_ACQUIRED_AFTER(...) UNMOOR_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))
#define UNMOOR_RETURN_CAPABILITY(lock) UNMOOR_THREAD_ATTRIBUTE(lock_returned(lock))
#define UNMOOR_NO_THREAD_SAFETY_ANALYSIS UNMOOR_THREAD_ATTRIBUTE(no_thread_safety_analysis)
