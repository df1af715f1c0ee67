/* SPDX-License-Identifier: MIT */
/*
 * libunmoor: lazy unmount that does not wait for the kernel's grace period, for programs in any language.
 *
 * Conventions, for every function here:
 *
 * (1) Names start with unmoor_. No other symbol is exported. Only libc is needed at run time.
 * (2) A function that can fail returns -1 and sets errno, as a system call does; 0 is success. errno is left alone on
 *     success. Errors of the kernel are handed on unchanged.
 * (3) Every function may be called from any thread, any number at once. None is async-signal-safe.
 * (4) A structure begins with its own size, set by the caller (or by its UNMOOR_..._INIT). A later version only adds
 *     members at the end: an older program, with a smaller size, works with a newer library. A larger size works too
 *     as long as what the library does not know is zero; else the call fails with E2BIG, and nothing was done.
 * (5) Strings are bytes ended by NUL, as the kernel takes them; no encoding is assumed. Strings that are returned are
 *     constant and live as long as the library.
 * (6) No signal disposition, no descriptor and no child process of the caller is changed or visible to it, except one:
 *     while a grace period runs, a process that has nothing of the caller's any more waits for it. wait(2) and
 *     waitpid(-1) without __WALL or __WCLONE do not see it, and its end sends no signal.
 */
#ifndef UNMOOR_UNMOOR_H
#define UNMOOR_UNMOOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNMOOR_API __attribute__((visibility("default")))

/* When a lazy unmount may return before the grace period is over. */
enum unmoor_defer {
  UNMOOR_DEFER_AUTO = 0,      /* only if nobody can tell */
  UNMOOR_DEFER_ELSEWHERE = 1, /* also if each filesystem stays mounted somewhere else that can be seen */
  UNMOOR_DEFER_ALWAYS = 2,    /* as soon as the mount is detached, whatever it is */
  UNMOOR_DEFER_NEVER = 3      /* the plain system call */
};

struct unmoor_detach_options {
  uint32_t size;  /* sizeof(struct unmoor_detach_options) */
  uint32_t defer; /* enum unmoor_defer */
};
#define UNMOOR_DETACH_OPTIONS_INIT {sizeof(struct unmoor_detach_options), UNMOOR_DEFER_AUTO}

struct unmoor_detach_result {
  uint32_t size;           /* sizeof(struct unmoor_detach_result) */
  uint32_t deferred;       /* 1: returned before the grace period; the release goes on without the caller */
  uint64_t microseconds;   /* that the call took */
  const char* reason;      /* a stable word, e.g. "deferred", "filesystem" */
  const char* explanation; /* the same in a sentence, e.g. for a log */
};
#define UNMOOR_DETACH_RESULT_INIT {sizeof(struct unmoor_detach_result), 0, 0, 0, 0}

/*
 * umount2(2), with the same arguments and the same errors; with MNT_DETACH it returns as soon as the mount is detached
 * if nobody can tell the difference (UNMOOR_DEFER_AUTO; unmoor_detach(3) says what that means).
 */
UNMOOR_API int unmoor_detach(const char* target, int flags);

/*
 * The same with options, and with what happened. Either pointer may be NULL. Errors besides those of umount2(2):
 * EINVAL (a size smaller than the first version's, or an unknown policy) and E2BIG (convention 4).
 */
UNMOOR_API int unmoor_detach_with(const char* target, int flags, const struct unmoor_detach_options* options,
                                  struct unmoor_detach_result* result);

/*
 * Waits until everything that earlier calls of this process left to finish has finished, and leaves no process
 * behind. Every call of unmoor_detach does the same for what has finished already, without waiting.
 */
UNMOOR_API void unmoor_reap(void);

/* What a holder stands in the way of. */
enum unmoor_prevents {
  UNMOOR_PREVENTS_UNMOUNT = 0,  /* umount2(2) of the mount fails with EBUSY */
  UNMOOR_PREVENTS_SHUTDOWN = 1, /* the mount can go, its filesystem stays alive */
  UNMOOR_PREVENTS_DEVICE = 2    /* the filesystem can go, its device stays in use */
};

/* Made by the library, for the time of one call of the function below. No string is NULL; empty: unknown, or none. */
struct unmoor_holder {
  uint32_t size;     /* sizeof(struct unmoor_holder), as the library knows it */
  uint32_t prevents; /* enum unmoor_prevents */
  uint32_t certain;  /* 0: may hold it; the kernel does not tell enough */
  uint32_t uid;
  int32_t pid;              /* 0: no process */
  int32_t tid;              /* of a thread that holds it by itself; 0: the whole process */
  int32_t descriptor;       /* -1: none */
  int32_t deleted;          /* 1: the file has no name any more */
  uint64_t mount_id;        /* as in the mount table; 0: unknown */
  uint64_t mount_namespace; /* inode number of its nsfs file; 0: the caller's, or unknown */
  const char* kind;         /* a stable word, e.g. "descriptor", "loop", "namespace" */
  const char* command;
  const char* user;
  const char* unit;
  const char* container;
  const char* path;
  const char* detail;
  const char* release; /* a shell command that would free it */
};

/* Not 0: no more holders, please. */
typedef int (*unmoor_holder_function)(const struct unmoor_holder* holder, void* data);

#define UNMOOR_HOLDERS_FILESYSTEM 1u /* `target` is any path: the whole filesystem it is on */

/*
 * Calls `found` with every holder of `target`: a mount point, a block device, or a mount id in decimal; what has to be
 * freed first comes first. Ends within about two seconds also when processes or servers are stuck. It starts threads
 * of its own; one that is stuck in the kernel may still be there when it returns. Errors: EINVAL (not such a target, or
 * an unknown flag), ENOENT, ENOMEM, EAGAIN.
 */
UNMOOR_API int unmoor_holders(const char* target, uint32_t flags, unmoor_holder_function found, void* data);

/*
 * Waits until the filesystem of `target` (as above) has shut down and its device can be opened exclusively; for a mount
 * that was detached before, the mount id finds it as long as somebody holds it, and one that nobody refers to is gone.
 * `timeout` is in milliseconds; negative: as long as it takes. Errors: ETIMEDOUT; EBUSY (still mounted somewhere, at
 * once without a timeout, else when the time is over); EINVAL, ENOENT, ENOMEM, EAGAIN.
 */
UNMOOR_API int unmoor_wait_gone(const char* target, int timeout);

#ifdef __cplusplus
}
#endif

#endif
