/* SPDX-License-Identifier: MIT */
/* libunmoor from C: a program that links the shared library and has a mount namespace of its own. Exit 77: skipped. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unmoor/unmoor.h>

static int failures;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                     \
    }                                                                 \
  } while (0)

static int fails_with(int result, int code) {
  return result == -1 && errno == code;
}

static void errors_are_the_kernels(void) {
  char longest[8192];
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  CHECK(fails_with(unmoor_detach((const char*)8, MNT_DETACH), EFAULT));
  CHECK(fails_with(unmoor_detach(NULL, MNT_DETACH), EFAULT));
  CHECK(fails_with(unmoor_detach("missing", MNT_DETACH), ENOENT));
  CHECK(fails_with(unmoor_detach("", MNT_DETACH), ENOENT));
  CHECK(fails_with(unmoor_detach("directory", MNT_DETACH), EINVAL));
  CHECK(fails_with(unmoor_detach(longest, MNT_DETACH), ENAMETOOLONG));
  CHECK(fails_with(unmoor_detach("directory", 0x4000), EINVAL));
}

static void options_and_results(void) {
  struct unmoor_detach_options options = UNMOOR_DETACH_OPTIONS_INIT;
  struct unmoor_detach_result result = UNMOOR_DETACH_RESULT_INIT;
  struct {
    struct unmoor_detach_options known;
    uint64_t later;
  } newer;

  options.defer = 99;
  CHECK(fails_with(unmoor_detach_with("m", MNT_DETACH, &options, NULL), EINVAL));
  options.defer = UNMOOR_DEFER_ALWAYS;
  options.size = 4;
  CHECK(fails_with(unmoor_detach_with("m", MNT_DETACH, &options, NULL), EINVAL));
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  newer.known.defer = UNMOOR_DEFER_NEVER;
  newer.later = 1;
  CHECK(fails_with(unmoor_detach_with("m", MNT_DETACH, &newer.known, NULL), E2BIG));

  CHECK(mount("t", "m", "tmpfs", 0, NULL) == 0);
  newer.later = 0;
  CHECK(unmoor_detach_with("m", MNT_DETACH, &newer.known, &result) == 0);
  CHECK(result.deferred == 0 && strcmp(result.reason, "never") == 0 && strlen(result.explanation) > 5);

  CHECK(mount("t", "m", "tmpfs", 0, NULL) == 0);
  options.size = sizeof options;
  errno = 4711;
  CHECK(unmoor_detach_with("m", MNT_DETACH, &options, &result) == 0);
  CHECK(errno == 4711);
  CHECK((result.deferred == 1) == (strcmp(result.reason, "deferred") == 0));
}

static void nothing_to_wait_for(void) {
  CHECK(mount("t", "m", "tmpfs", 0, NULL) == 0);
  CHECK(unmoor_detach("m", MNT_DETACH) == 0);
  CHECK(fails_with(waitpid(-1, NULL, WNOHANG), ECHILD));
  unmoor_reap();
  CHECK(fails_with(waitpid(-1, NULL, WNOHANG | __WALL), ECHILD));
}

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
}

/* As root of a user namespace, for those who are not root: without an identity there they could make no file. */
static int enter_user_namespace(void) {
  char uid[64], gid[64];
  snprintf(uid, sizeof uid, "0 %u 1", (unsigned)geteuid());
  snprintf(gid, sizeof gid, "0 %u 1", (unsigned)getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", uid);
  write_file("/proc/self/gid_map", gid);
  return 0;
}

int main(void) {
  char scratch[] = "/tmp/unmoor-c-XXXXXX";
  if (unshare(CLONE_NEWNS) != 0 && enter_user_namespace() != 0) {
    perror("skipped: unshare");
    return 77;
  }
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mkdtemp(scratch) == NULL ||
      mount("t", scratch, "tmpfs", 0, NULL) != 0 || chdir(scratch) != 0) {
    perror("skipped: mount");
    return 77;
  }
  if (mkdir("directory", 0755) != 0 || mkdir("m", 0755) != 0) {
    perror("mkdir");
    return 1;
  }
  errors_are_the_kernels();
  options_and_results();
  nothing_to_wait_for();
  CHECK(chdir("/") == 0 && umount2(scratch, MNT_DETACH) == 0 && rmdir(scratch) == 0);
  return failures != 0;
}
