// SPDX-License-Identifier: MIT
// unmoor-hold: holds the filesystem mounted on DIR in exactly one way, says "ready", and lets go when its standard
// input ends. For `unmoor bench who` and the tests.
//
//   unmoor-hold KIND DIR     DIR must hold a file named "file"; kinds: see the table at the end
//
// What the kernel keeps by itself (swap, loop, uprobe, ...) is put back before the program ends.
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* directory;
static char file[4096];

static void check(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
  _exit(77);
}

static void ready(void) {
  puts("ready");
  fflush(stdout);
}

static void until_told(void) {
  char byte;
  ready();
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

static int open_file(int flags) {
  const int fd = open(file, flags | O_CLOEXEC);
  check(fd, file);
  return fd;
}

static void in_directory(char* out, size_t size, const char* name) {
  snprintf(out, size, "%s/%s", directory, name);
}

static void copy_program(const char* to) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  check(from, "open");
  check(out, to);
  char buffer[65536];
  for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;)
    check(write(out, buffer, (size_t)got), to);
  close(from);
  close(out);
}

static void hold_descriptor(void) {
  open_file(O_RDWR);
  until_told();
}

static void hold_path_descriptor(void) {
  open_file(O_PATH);
  until_told();
}

static void hold_cwd(void) {
  check(chdir(directory), "chdir");
  until_told();
}

static void hold_root(void) {
  const int outside = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  check(outside, "open /");
  check(chroot(directory), "chroot");
  check(fchdir(outside), "fchdir");
  close(outside);
  until_told();
}

static void hold_mapping(void) {
  const int fd = open_file(O_RDWR);
  check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, "mmap");
  close(fd);
  until_told();
}

static void hold_executable(void) {
  char program[4200];
  in_directory(program, sizeof program, "program");
  copy_program(program);
  execl(program, "program", "wait", directory, (char*)NULL);
  check(-1, "execl");
}

static void hold_deleted(void) {
  char name[4200];
  in_directory(name, sizeof name, "removed");
  check(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644), name);
  check(unlink(name), "unlink");
  until_told();
}

static void send_descriptor(int socket, int fd) {
  char byte = 'x';
  struct iovec data = {&byte, 1};
  char control[CMSG_SPACE(sizeof fd)];
  memset(control, 0, sizeof control);
  struct msghdr message = {0};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  check(sendmsg(socket, &message, 0), "sendmsg");
}

static void hold_in_flight(void) {
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const int fd = open_file(O_RDWR);
  send_descriptor(ends[0], fd);
  close(fd);
  until_told();
}

static void hold_ring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  const int ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
  check(ring, "io_uring_setup");
  int fd = open_file(O_RDWR);
  check(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1), "io_uring_register");
  close(fd);
  until_told();
}

static void bind_socket(const char* path) {
  struct sockaddr_un address = {0};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  const int bound = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(bound, "socket");
  check(bind(bound, (const struct sockaddr*)&address, sizeof address), path);
}

static void hold_bound_socket(void) {
  char path[4200];
  in_directory(path, sizeof path, "socket");
  bind_socket(path);
  until_told();
}

// A relative name: nothing in /proc/net/unix tells where it is.
static void hold_relative_socket(void) {
  const int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  check(chdir(directory), "chdir");
  bind_socket("socket");
  check(fchdir(back), "fchdir");
  close(back);
  until_told();
}

static void* own_cwd(void* unused) {
  (void)unused;
  check(unshare(CLONE_FS), "unshare(CLONE_FS)");
  check(chdir(directory), "chdir");
  until_told();
  _exit(0);
}

static void* own_descriptor(void* unused) {
  (void)unused;
  check(unshare(CLONE_FILES), "unshare(CLONE_FILES)");
  open_file(O_RDWR);
  until_told();
  _exit(0);
}

static void* outlive_leader(void* unused) {
  (void)unused;
  open_file(O_RDWR);
  // The leader has to be gone before anybody looks.
  for (char state = 'R'; state != 'Z'; usleep(1000)) {
    char text[512] = "";
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
      const char* const end = strrchr(text, ')');
      if (end != NULL) state = end[2];
    }
    close(fd);
  }
  until_told();
  _exit(0);
}

static void start_thread(void* (*body)(void*)) {
  pthread_t thread;
  errno = pthread_create(&thread, NULL, body, NULL);
  check(errno == 0 ? 0 : -1, "pthread_create");
}

static void hold_thread_cwd(void) {
  start_thread(own_cwd);
  for (;;)
    pause();
}

static void hold_thread_descriptor(void) {
  start_thread(own_descriptor);
  for (;;)
    pause();
}

static void hold_zombie_leader(void) {
  start_thread(outlive_leader);
  syscall(SYS_exit, 0);
}

static void enter_private_namespace(void) {
  check(unshare(CLONE_NEWNS), "unshare(CLONE_NEWNS)");
  check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount --make-rprivate /");
}

static void hold_namespace(void) {
  enter_private_namespace();
  until_told();
}

// A child, on that processor if one is named, makes the namespace and goes when we have it open.
static int open_childs_namespace(int processor) {
  int tell[2];
  check(pipe(tell), "pipe");
  const pid_t child = fork();
  check(child, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (processor >= 0) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(processor, &only);
      (void)sched_setaffinity(0, sizeof only, &only);  // refused: not one of ours
    }
    enter_private_namespace();
    check(write(tell[1], "x", 1), "write");
    for (;;)
      pause();
  }
  close(tell[1]);
  char byte;
  check(read(tell[0], &byte, 1) == 1 ? 0 : -1, "read");
  close(tell[0]);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)child);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  check(fd, path);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return fd;
}

static void hold_namespace_descriptor(void) {
  open_childs_namespace(-1);
  until_told();
}

// A namespace may be mounted only in one with a smaller number, and Linux 6.18 has a range of numbers for each
// processor: a namespace made later has a larger one for sure only if it was made on the same processor as ours.
static void bind_childs_namespace(const char* to) {
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  int bound = -1;
  for (int processor = 0; processor < processors && bound != 0; ++processor) {
    const int fd = open_childs_namespace(processor);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bound = mount(link, to, NULL, MS_BIND, NULL);
    close(fd);
  }
  check(bound, "mount --bind");
}

// Kept by a bind mount of its file only. The mount point must be private: elsewhere the kernel refuses.
static void hold_namespace_mount(void) {
  char keeper[4200], file_of_it[4300];
  snprintf(keeper, sizeof keeper, "%s.keeper", directory);
  snprintf(file_of_it, sizeof file_of_it, "%s/mnt", keeper);
  mkdir(keeper, 0755);
  check(mount("keeper", keeper, "tmpfs", 0, NULL), "mount");
  check(mount("none", keeper, NULL, MS_PRIVATE, NULL), "mount --make-private");
  const int at = open(file_of_it, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  check(at, file_of_it);
  close(at);
  bind_childs_namespace(file_of_it);
  until_told();
  check(umount2(file_of_it, 0), "umount2");
  check(umount2(keeper, 0), "umount2");
  rmdir(keeper);
}

static void hold_tree(void) {
  check(syscall(SYS_open_tree, AT_FDCWD, directory, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC), "open_tree");
  until_told();
}

static void hold_nested(void) {
  char path[4200];
  in_directory(path, sizeof path, "inner mount");
  mkdir(path, 0755);
  check(mount("inner", path, "tmpfs", 0, NULL), "mount");
  until_told();
  check(umount2(path, 0), "umount2");
}

static void hold_bind(void) {
  char path[4200];
  snprintf(path, sizeof path, "%s.copy", directory);
  mkdir(path, 0755);
  check(mount(directory, path, NULL, MS_BIND, NULL), "mount --bind");
  until_told();
  check(umount2(path, 0), "umount2");
  rmdir(path);
}

static void hold_overlay(void) {
  char lower[4200], other[4200], path[4200], options[8600];
  in_directory(lower, sizeof lower, "lower");
  in_directory(other, sizeof other, "other");
  snprintf(path, sizeof path, "%s.overlay", directory);
  snprintf(options, sizeof options, "lowerdir=%s:%s", lower, other);
  mkdir(lower, 0755);
  mkdir(other, 0755);
  mkdir(path, 0755);
  check(mount("overlay", path, "overlay", 0, options), "mount overlay");
  until_told();
  check(umount2(path, 0), "umount2");
  rmdir(path);
}

static void make_file(const char* path, off_t size) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(fd, path);
  check(posix_fallocate(fd, 0, size) == 0 ? 0 : -1, "posix_fallocate");
  close(fd);
}

// mkswap's header: version 1, the last page's number, and the magic at the end of the first page.
static void hold_swap(void) {
  char path[4200];
  in_directory(path, sizeof path, "swap file");
  const long page = sysconf(_SC_PAGESIZE);
  const int pages = 64;
  make_file(path, pages * page);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  check(fd, path);
  unsigned header[3] = {1, pages - 1, 0};
  check(pwrite(fd, header, sizeof header, 1024), "write");
  check(pwrite(fd, "SWAPSPACE2", 10, page - 10), "write");
  fsync(fd);
  close(fd);
  check(swapon(path, 0), "swapon");
  until_told();
  check(swapoff(path), "swapoff");
}

static void hold_loop(void) {
  char path[4200], node[64];
  in_directory(path, sizeof path, "inner image");
  make_file(path, 1 << 20);
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  check(control, "/dev/loop-control");
  const int backing = open(path, O_RDWR | O_CLOEXEC);
  check(backing, path);
  for (int attempt = 0;; ++attempt) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    check(number, "LOOP_CTL_GET_FREE");
    snprintf(node, sizeof node, "/dev/loop%d", number);
    const int fd = open(node, O_RDWR | O_CLOEXEC);
    check(fd, node);
    if (ioctl(fd, LOOP_SET_FD, backing) == 0) {
      close(backing);
      close(control);
      until_told();
      ioctl(fd, LOOP_CLR_FD);
      return;
    }
    close(fd);
    check(attempt < 50 ? 0 : -1, "LOOP_SET_FD");  // somebody else took it
  }
}

static int mounted_privately(const char* type) {
  const int context = (int)syscall(SYS_fsopen, type, 1);
  check(context, type);
  check(syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0), "fsconfig");
  const int root = (int)syscall(SYS_fsmount, context, 1, 0);
  check(root, "fsmount");
  close(context);
  return root;
}

static void write_to(int root, const char* name, int flags, const char* text) {
  const int fd = openat(root, name, O_WRONLY | O_CLOEXEC | flags);
  check(fd, name);
  check(write(fd, text, strlen(text)), name);
  close(fd);
}

static void hold_binary_format(void) {
  char name[64], program[4200], rule[9000];
  in_directory(program, sizeof program, "interpreter");
  copy_program(program);
  const int root = mounted_privately("binfmt_misc");
  snprintf(name, sizeof name, "unmoor-test-%d", (int)getpid());
  snprintf(rule, sizeof rule, ":%s:E::unmoor%d::%s:F", name, (int)getpid(), program);
  write_to(root, "register", 0, rule);
  until_told();
  write_to(root, name, 0, "-1");
}

static void hold_uprobe(void) {
  char name[64], program[4200], rule[9000];
  in_directory(program, sizeof program, "probed");
  copy_program(program);
  const int root = mounted_privately("tracefs");
  snprintf(name, sizeof name, "unmoor%d/hold", (int)getpid());
  snprintf(rule, sizeof rule, "p:%s %s:0x0", name, program);
  write_to(root, "uprobe_events", O_APPEND, rule);
  until_told();
  snprintf(rule, sizeof rule, "-:%s", name);
  write_to(root, "uprobe_events", O_APPEND, rule);
}

static const struct {
  const char* name;
  void (*hold)(void);
} kinds[] = {
    {"wait", until_told},  // holds nothing by itself
    {"descriptor", hold_descriptor},
    {"path-descriptor", hold_path_descriptor},
    {"working-directory", hold_cwd},
    {"root-directory", hold_root},
    {"mapping", hold_mapping},
    {"executable", hold_executable},
    {"deleted", hold_deleted},
    {"in-flight", hold_in_flight},
    {"io_uring-file", hold_ring},
    {"bound-socket", hold_bound_socket},
    {"relative-socket", hold_relative_socket},
    {"thread-cwd", hold_thread_cwd},
    {"thread-descriptor", hold_thread_descriptor},
    {"zombie-leader", hold_zombie_leader},
    {"namespace", hold_namespace},
    {"namespace-descriptor", hold_namespace_descriptor},
    {"namespace-mount", hold_namespace_mount},
    {"detached-tree", hold_tree},
    {"nested-mount", hold_nested},
    {"bind-copy", hold_bind},
    {"overlay", hold_overlay},
    {"swap", hold_swap},
    {"loop", hold_loop},
    {"binary-format", hold_binary_format},
    {"uprobe", hold_uprobe},
};

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: hold KIND DIR\n");
    return 2;
  }
  directory = argv[2];
  snprintf(file, sizeof file, "%s/file", directory);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(kinds[i].name, argv[1]) != 0) continue;
    kinds[i].hold();
    return 0;
  }
  fprintf(stderr, "hold: no kind '%s'\n", argv[1]);
  return 2;
}
