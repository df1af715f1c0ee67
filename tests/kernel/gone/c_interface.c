/* SPDX-License-Identifier: MIT */
/* unmoor_holders and unmoor_wait_gone from C. Exit 77: skipped. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

struct seen {
  int count;
  int ours;
  int stop_after;
};

static int look(const struct unmoor_holder* holder, void* data) {
  struct seen* const seen = data;
  const char* const strings[] = {holder->kind, holder->command,   holder->user,   holder->unit,
                                 holder->path, holder->container, holder->detail, holder->release};
  if (strcmp(holder->kind, "in-flight") == 0) return 0; /* another program's: a candidate for any filesystem */
  seen->count++;
  CHECK(holder->size == sizeof *holder);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; ++i)
    CHECK(strings[i] != NULL);
  if (holder->pid == getpid()) {
    seen->ours++;
    CHECK(strcmp(holder->kind, "descriptor") == 0);
    CHECK(holder->prevents == UNMOOR_PREVENTS_UNMOUNT);
    CHECK(holder->certain == 1);
    CHECK(holder->descriptor >= 0);
    CHECK(strstr(holder->path, "/m/file") != NULL);
    CHECK(holder->mount_id != 0);
  }
  return seen->stop_after != 0 && seen->count >= seen->stop_after;
}

static void holders_are_listed(void) {
  struct seen seen = {0, 0, 0};
  struct seen first = {0, 0, 1};
  struct seen none = {0, 0, 0};
  const int a = open("m/file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const int b = open("m/file2", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  CHECK(a >= 0 && b >= 0);
  unlink("m/file2");
  close(b);
  const int c = dup(a);
  errno = 4711;
  CHECK(unmoor_holders("m", 0, look, &seen) == 0);
  CHECK(errno == 4711);
  CHECK(seen.count == 2 && seen.ours == 2);
  CHECK(unmoor_holders("m", 0, look, &first) == 0);
  CHECK(first.count == 1);
  close(a);
  close(c);
  CHECK(unmoor_holders("m", 0, look, &none) == 0);
  CHECK(none.count == 0);
}

static void any_path_with_the_flag(void) {
  struct seen seen = {0, 0, 0};
  const int fd = open("m/file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  CHECK(fails_with(unmoor_holders("m/file", 0, look, &seen), EINVAL));
  CHECK(unmoor_holders("m/file", UNMOOR_HOLDERS_FILESYSTEM, look, &seen) == 0);
  CHECK(seen.ours == 1);
  close(fd);
}

static void errors(void) {
  struct seen seen = {0, 0, 0};
  CHECK(fails_with(unmoor_holders("m", 0x80, look, &seen), EINVAL));
  CHECK(fails_with(unmoor_holders("directory", 0, look, &seen), EINVAL));
  CHECK(fails_with(unmoor_holders(NULL, 0, look, &seen), EINVAL));
  CHECK(fails_with(unmoor_holders("m", 0, NULL, &seen), EINVAL));
  CHECK(fails_with(unmoor_wait_gone(NULL, 0), EINVAL));
  CHECK(fails_with(unmoor_wait_gone("directory", 0), EINVAL));
  CHECK(seen.count == 0);
}

static void* close_later(void* fd) {
  usleep(100000);
  close(*(int*)fd);
  return NULL;
}

static unsigned long long mount_id_of(const char* path) {
  struct statx facts;
  CHECK(statx(AT_FDCWD, path, 0, 0x1000 /* STATX_MNT_ID */, &facts) == 0);
  return facts.stx_mnt_id;
}

static void a_wait_ends_with_the_filesystem(void) {
  char id[32];
  pthread_t closer;
  int fd;
  CHECK(fails_with(unmoor_wait_gone("m", -1), EBUSY)); /* mounted: at once */
  CHECK(fails_with(unmoor_wait_gone("m", 10), EBUSY));
  fd = open("m/file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  snprintf(id, sizeof id, "%llu", mount_id_of("m"));
  CHECK(umount2("m", MNT_DETACH) == 0);
  CHECK(fails_with(unmoor_wait_gone(id, 20), ETIMEDOUT));
  CHECK(pthread_create(&closer, NULL, close_later, &fd) == 0);
  CHECK(unmoor_wait_gone(id, 60000) == 0);
  pthread_join(closer, NULL);
  CHECK(unmoor_wait_gone(id, -1) == 0); /* nothing refers to it */
}

int main(void) {
  char scratch[] = "/tmp/unmoor-c-XXXXXX";
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
    perror("needs mounts");
    return 77;
  }
  if (mkdtemp(scratch) == NULL || chdir(scratch) != 0 || mkdir("m", 0755) != 0 || mkdir("directory", 0755) != 0 ||
      mount("t", "m", "tmpfs", 0, NULL) != 0) {
    perror(scratch);
    return 77;
  }
  holders_are_listed();
  any_path_with_the_flag();
  errors();
  a_wait_ends_with_the_filesystem();
  umount2("m", MNT_DETACH);
  rmdir("m");
  rmdir("directory");
  CHECK(chdir("/") == 0 && rmdir(scratch) == 0);
  return failures == 0 ? 0 : 1;
}
