// SPDX-License-Identifier: MIT
// Called by the name umount, the program is umount(8): the same command line, in the same surroundings, must give the
// same output, the same exit code and leave the same mounts as the umount that is installed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "measure/rcu_guard.h"
#include "support/for_everybody.h"
#include "support/here.h"
#include "support/mount_rights.h"
#include "support/user_namespace.h"

namespace unmoor::test {
namespace {

// Runs in a directory of its own (a tmpfs): $W. `arguments` go through the shell.
struct Case {
  const char* surroundings;
  const char* arguments;
};

constexpr const char* kNothing = "mkdir a b";
constexpr const char* kOne = "mkdir a b; mount -t tmpfs A a";
constexpr const char* kTwo = "mkdir a b; mount -t tmpfs A a; mount -t tmpfs B b";
constexpr const char* kBusy = "mkdir a b; mount -t tmpfs A a; exec 9>a/f";
constexpr const char* kReadBusy = "mkdir a b; mount -t tmpfs A a; exec 9<a";
constexpr const char* kLink = "mkdir a b; mount -t tmpfs A a; ln -s a s";
constexpr const char* kFile = "touch f; mount --bind f f";
constexpr const char* kStack = "mkdir a; mount -t tmpfs A a; mount -t tmpfs B a; mount -t tmpfs C a";
constexpr const char* kTree =
    "mkdir a b; mount -t tmpfs A a; mkdir a/1 a/2 a/3; mount -t tmpfs A1 a/1; mount -t tmpfs A2 a/2; "
    "mount -t tmpfs A3 a/3; mkdir a/2/x; mount -t tmpfs A2x a/2/x";
constexpr const char* kBusyTree =
    "mkdir a b; mount -t tmpfs A a; mkdir a/1 a/2 a/3; mount -t tmpfs A1 a/1; mount -t tmpfs A2 a/2; "
    "mount -t tmpfs A3 a/3; mkdir a/2/x; mount -t tmpfs A2x a/2/x; exec 9>a/2/f";
constexpr const char* kCoveredTree =
    "mkdir a; mount -t tmpfs A a; mkdir a/1 a/2; mount -t tmpfs A1 a/1; mount -t tmpfs A2 a/2; mkdir a/2/x; "
    "mount -t tmpfs A2x a/2/x; mount -t tmpfs over a/2; mkdir a/2/y; mount -t tmpfs overy a/2/y";
constexpr const char* kBinds =
    "mkdir a b c; mount -t tmpfs A a; mkdir a/k; mount --bind a b; mount --bind a c; mount -t tmpfs K b/k";
constexpr const char* kSubBinds = "mkdir a b c; mount -t tmpfs A a; mkdir a/s; mount --bind a/s b; mount --bind a c";
constexpr const char* kSameSource = "mkdir a b; mount -t tmpfs A a; mount -t tmpfs A b";
constexpr const char* kPeers =
    "mkdir a b; mount -t tmpfs A a; mount --make-shared a; mkdir a/x; mount --bind a b; mount -t tmpfs X a/x";
constexpr const char* kPeersInTree =
    "mkdir c; mount -t tmpfs top c; mkdir c/a c/b; mount -t tmpfs A c/a; mount --make-shared c/a; mkdir c/a/x; "
    "mount --bind c/a c/b; mount -t tmpfs X c/a/x";
constexpr const char* kMoved = "mkdir a b; mount -t tmpfs X b; mount -t tmpfs A a; mkdir a/m; mount --move b a/m";
constexpr const char* kTypes = "mkdir a b c; mount -t tmpfs A a; mount -t ramfs R b; mount -t proc P c";
constexpr const char* kBusyRamfs = "mkdir a b; mount -t ramfs R a; mount -t ramfs S b; exec 9<b";
constexpr const char* kDeleted = "mkdir s b; mount --bind s b; rmdir s";
constexpr const char* kDeletedFile = "touch f g; mount --bind f g; rm f";
constexpr const char* kHidden = "mkdir a a/b; mount -t tmpfs B a/b; mount -t tmpfs O a";
constexpr const char* kDetached = "mkdir a; mount -t tmpfs A a; cd a; /bin/umount -l $W/a";
constexpr const char* kNames =
    "mkdir 'sp ace' \"$(printf 'b\\377d')\"; mount -t tmpfs 's o' 'sp ace'; mount -t tmpfs x \"$(printf 'b\\377d')\"";
constexpr const char* kLoop =
    "truncate -s 8M i; mkfs.ext4 -q -L unmoor-umount i; mkdir a; mount -o loop i a; D=$(sed -n "
    "\"s#^\\(/dev/loop[0-9]*\\) "
    "$W/a .*#\\1#p\" /proc/self/mounts)";
constexpr const char* kPlainLoop = "truncate -s 8M i; mkfs.ext4 -q i; mkdir a; D=$(losetup -f --show i); mount $D a";
constexpr const char* kFstab =
    "mkdir a b; echo \"A $W/a tmpfs user 0 0\" >fstab; echo \"B $W/b tmpfs noauto 0 0\" >>fstab; "
    "mount --bind fstab /etc/fstab; mount -t tmpfs A a; mount -t tmpfs B b";
constexpr const char* kUtab = "mkdir a b; mount -t tmpfs -o uhelper=nothere A a; mount -t tmpfs B b";
constexpr const char* kHelper =
    "mkdir up work a b; mount -t overlay -o lowerdir=/usr/sbin,upperdir=up,workdir=work o /usr/sbin; "
    "printf '#!/bin/sh\\necho helper \"$@\"\\nexit 3\\n' >/usr/sbin/umount.tmpfs; chmod 755 /usr/sbin/umount.tmpfs; "
    "mount -t tmpfs A a; mkdir a/1; mount -t ramfs R a/1";
constexpr const char* kOther =
    "mkdir a; unshare -m --propagation private sh -c \"mount -t tmpfs A $W/a; mkdir $W/a/1; mount -t tmpfs B $W/a/1; "
    "echo >$W/ready; sleep 20\" & N=$!; while [ ! -e ready ]; do sleep 0.01; done";

constexpr Case kCases[] = {
    // Words, errors, the grammar.
    {kNothing, ""},
    {kNothing, "-Z a"},
    {kNothing, "--nonsense a"},
    {kNothing, "--al"},
    {kNothing, "--no a"},
    {kNothing, "--lazy=3 a"},
    {kNothing, "-t"},
    {kNothing, "-N"},
    {kNothing, "-O"},
    {kNothing, "-a b"},
    {kNothing, "-a -A a"},
    {kNothing, "-A -a a"},
    {kNothing, "-R -a"},
    {kNothing, "-R -t x a"},
    {kNothing, "-r -R a"},
    {kNothing, "-O x -R a"},
    {kNothing, "--all-t"},
    {kNothing, "-fl"},
    {kNothing, "-lfnvqir nothere"},
    // Nothing to unmount.
    {kNothing, "a"},
    {kNothing, "-q a"},
    {kNothing, "nothere"},
    {kNothing, "-q nothere"},
    {kNothing, "''"},
    {kNothing, "-v a b"},
    {kNothing, "a b a"},
    {kNothing, "1 2 3 4 5 6 7 8 9"},
    {kNothing, "$W/a"},
    {kNothing, "$W/nothere"},
    {kNothing, "-l a"},
    {kNothing, "-l nothere"},
    {kNothing, "-f a"},
    {kNothing, "/dev/null"},
    {kNothing, "LABEL=nothere"},
    {kNothing, "UUID=x"},
    {kNothing, "FOO=x"},
    {kNothing, "LABEL=nothere a"},
    {kNothing, "-R a"},
    {kNothing, "-R nothere"},
    {kNothing, "-A a"},
    {kNothing, "-A nothere"},
    {kNothing, "-AR nothere"},
    {kNothing, "-Rq a nothere"},
    {kNothing, "-R a nothere b"},
    {kNothing, "-a -t nosuchtype"},
    {kNothing, "--fake nothere"},
    {kNothing, "--fake -v a"},
    {kNothing, "-c a"},
    {kNothing, "-N 99999999 a"},
    {kNothing, "-N /nothere a"},
    {kNothing, "-N /etc/passwd a"},
    {kNothing, "-N 0 a"},
    {kNothing, "-N /proc/self/ns/net a"},
    {kNothing, "-A LABEL=nothere"},
    {kNothing, "--fake -A a"},
    // One mount, each way to name it and each option.
    {kOne, "a"},
    {kOne, "-v a"},
    {kOne, "-v $W/a"},
    {kOne, "-v a/"},
    {kOne, "-v $W/a/"},
    {kOne, "-v ./b/../a"},
    {kOne, "-v $W/./a"},
    {kOne, "-v A"},
    {kOne, "-vl a"},
    {kOne, "-vl $W/a"},
    {kOne, "-vf $W/a"},
    {kOne, "-vd $W/a"},
    {kOne, "-vd a"},
    {kOne, "-vn $W/a"},
    {kOne, "-vi a"},
    {kOne, "-vc a"},
    {kOne, "-vc $W/a"},
    {kOne, "-vc $W/a/"},
    {kOne, "-vc a/."},
    {kOne, "-v a/."},
    {kOne, "-l ."},
    {kOne, "-vr a"},
    {kOne, "-v --fake a"},
    {kOne, "-v --fake $W/a"},
    {kOne, "-v -t ext4 a"},
    {kOne, "-v -t notmpfs a"},
    {kOne, "-v -O x a"},
    {kOne, "-vlfni a"},
    {kOne, "-v a a"},
    {kOne, "a nothere"},
    {kOne, "nothere -v a b"},
    {kOne, "-v a/x"},
    {kOne, "-q a b"},
    {kOne, "-Rv a"},
    {kOne, "-Rv A"},
    {kOne, "-Av A"},
    {kOne, "-Rvc a"},
    {kOne, "-Rvc $W/a/"},
    {kOne, "-Rvc $W/b/../a"},
    {kOne, "-v -- a"},
    {kOne, "a -v"},
    {kOne, "--lazy --verb a"},
    {kTwo, "-v a b"},
    {kTwo, "-vl b a"},
    {kTwo, "-v $W/b A"},
    {kBusy, "a"},
    {kBusy, "-v $W/a"},
    {kBusy, "-f a"},
    {kBusy, "-r a"},
    {kBusy, "-q a"},
    {kBusy, "-lv a"},
    {kBusy, "a b"},
    {kBusy, "$W/a $W/a"},
    {kBusy, "-c a"},
    {kBusy, "-R a"},
    {kBusy, "-A a"},
    {kReadBusy, "-rv a"},
    {kReadBusy, "-r $W/a"},
    {kLink, "-v s"},
    {kLink, "-v $W/s"},
    {kLink, "-vc s"},
    {kLink, "-Rv s"},
    {kLink, "-Rvc s"},
    {kLink, "-Av s"},
    {kLink, "-vl s"},
    {kFile, "-v f"},
    {kFile, "-v $W/f"},
    {kFile, "f/x"},
    {kFile, "-Rv f"},
    {kFile, "f f"},
    {kStack, "-v a"},
    {kStack, "-v a a"},
    {kStack, "-v a a a a"},
    {kStack, "-Rv a"},
    {kStack, "-v B"},
    {kStack, "-Rlv a"},
    {kStack, "-v A"},
    {kNames, "-v 'sp ace'"},
    {kNames, "-v b?d"},
    {kNames, "-v 's o'"},
    {kNames, "-R 'sp ace' b?d"},
    {kSameSource, "-v A"},
    {kSameSource, "-v A A"},
    {kSameSource, "-Av A"},
    {kSameSource, "-Av a"},
    // Trees.
    {kTree, "a"},
    {kTree, "-v a/1 a/2/x a/2 a/3 a"},
    {kTree, "-Rv a"},
    {kTree, "-Rlv a"},
    {kTree, "-lv a"},
    {kTree, "-Rv a/2 a/3 a"},
    {kTree, "-R --fake -v a"},
    {kTree, "-Rv a b"},
    {kTree, "-Rv nothere a"},
    {kTree, "-Rfv a"},
    {kTree, "-Rnv a/2"},
    {kTree, "-ARv A"},
    {kTree, "-Rv a/1 a/1"},
    {kTree, "-Rdv a"},
    {kBusyTree, "-Rv a"},
    {kBusyTree, "-R a b"},
    {kBusyTree, "-R a nothere"},
    {kBusyTree, "-Rlv a"},
    {kBusyTree, "-Rv a/3 a"},
    {kBusyTree, "-ARv A"},
    {kCoveredTree, "-Rv a"},
    {kCoveredTree, "-Rv a/2"},
    {kCoveredTree, "-Rlv a"},
    {kCoveredTree, "-v a/2/y a/2 a/2/x"},
    {kBinds, "-Av a"},
    {kBinds, "-ARv a"},
    {kBinds, "-v A"},
    {kBinds, "-Av b c"},
    {kBinds, "-ARlv c"},
    {kSubBinds, "-Av c"},
    {kSubBinds, "-v b A"},
    {kSubBinds, "-Av --fake b"},
    {kPeers, "-v a/x b/x"},
    {kPeers, "-Rv a"},
    {kPeers, "-Rlv b"},
    {kPeers, "-v a/x a b"},
    {kPeers, "-av -t tmpfs -O mode=0"},
    {kPeersInTree, "-Rv c"},
    {kPeersInTree, "-Rlv c"},
    {kPeersInTree, "-Rv c/b c"},
    {kMoved, "-Rv a"},
    {kMoved, "-v a a/m"},
    // Lists of types and options.
    {kTypes, "-av -t ramfs"},
    {kTypes, "-a -t ramfs,nosuch"},
    {kTypes, "-av -t ramfs -O rw"},
    {kTypes, "-av -t ramfs -O ro"},
    {kTypes, "-av -t ramfs -O noro"},
    {kTypes, "-av -t ramfs --fake"},
    {kTypes, "-avl -t ramfs"},
    {kTypes, "-a -r -t ramfs"},
    {kTypes, "-v $W/a $W/b $W/c"},
    {kBusyRamfs, "-av -t ramfs"},
    {kBusyRamfs, "-alv -t ramfs"},
    {kBusyRamfs, "-av -r -t ramfs"},
    {kBusyRamfs, "-a -r -t ramfs"},
    {kBusyRamfs, "-R -r a b"},
    {kBusyRamfs, "-r $W/a $W/b"},
    {kBusyTree, "-Rrv a"},
    {kBusyTree, "-R -r a b"},
    {kBusyTree, "-ARrv A"},
    // A source directory that is deleted, a mount under another, a working directory that is detached.
    {kDeleted, "-v b"},
    {kDeleted, "-Rv $W/b"},
    {kDeleted, "-Av b"},
    {kDeletedFile, "-v g"},
    {kHidden, "-v a/b"},
    {kHidden, "-Av B"},
    {kHidden, "-Rv a"},
    {kDetached, "."},
    {kDetached, "-R ."},
};

// A machine without /etc/fstab.
constexpr const char* kNoFstab =
    "mkdir a b e; mount -t tmpfs A a; cp /etc/passwd /etc/group /etc/ld.so.cache e; mount --bind e /etc";

constexpr Case kRootCases[] = {
    {kLoop, "-v a"},
    {kLoop, "-v $W/a"},
    {kLoop, "-lv a"},
    {kLoop, "$D"},
    {kLoop, "-dv a"},
    {kLoop, "-d $W/a"},
    {kLoop, "i"},
    {kLoop, "-v $W/i"},
    {kLoop, "-A i"},
    {kLoop, "LABEL=unmoor-umount"},
    {kLoop, "-Av $D"},
    {kLoop, "-R a"},
    {kPlainLoop, "a"},
    {kPlainLoop, "-d a"},
    {kPlainLoop, "-dv $D"},
    {kPlainLoop, "-dR a"},
    {kPlainLoop, "-dA a"},
    {kFstab, "-v a"},
    {kFstab, "-v $W/b B"},
    {kFstab, "A B"},
    {kFstab, "--fake -v a nothere"},
    {kUtab, "-v a"},
    {kUtab, "-v $W/a"},
    {kUtab, "-nv a"},
    {kUtab, "-Rv a"},
    {kUtab, "-lv $W/a"},
    {kUtab, "-v $W/b"},
    {kUtab, "-v a b"},
    {kUtab, "-av -t nosuchtype"},
    {kHelper, "a/1"},
    {kHelper, "-v b"},
    {kHelper, "-v a"},
    {kHelper, "-i a/1 a"},
    {kHelper, "-vlfnr a"},
    {kHelper, "-c a"},
    {kHelper, "-R a"},
    {kHelper, "-Rvi a"},
    {kHelper, "--fake a"},
    {kHelper, "-t tmpfs $W/a"},
    {kHelper, "-A a"},
    {kOther, "-N $N $W/a/1"},
    {kOther, "-N /proc/$N/ns/mnt -v $W/a/1 $W/a"},
    {kOther, "-N $N -Rv $W/a"},
    {kOther, "-N $N a"},
    {kOther, "-N $N -lv $W/a"},
    {kOther, "-N $N -v nothere"},
    {kOther, "-N $N -R $W/nothere"},
};

// Run with normal grace periods, where several targets go at the same time.
constexpr const char* kBusyTwo =
    "mkdir a b c; mount -t tmpfs A a; mount -t tmpfs B b; mount -t tmpfs C c; exec 8>a/f 9>b/f";
constexpr Case kTogetherCases[] = {
    {kTwo, "a b"},
    {kTwo, "-v a b"},
    {kTwo, "-v a nothere b"},
    {kTwo, "-v a b a"},
    {kTwo, "-vq a a b"},
    {kBusyTwo, "a b c"},
    {kBusyTwo, "-v c a b"},
    {kBusyTwo, "-v a b nothere c"},
    {kStack, "-v a a"},
    {kTree, "-v a a/1 a/3"},
    {kTree, "-v a/1 a/2/x a/2 a/3 a"},
    {kPeers, "-v a/x b/x a b"},
    {kPeers, "-v b/x a/x"},
    {kFstab, "-v a b"},
    {kLoop, "-v a"},
    {kHelper, "-v a"},
};

// Run as an ordinary user, by a copy that is not setuid.
constexpr Case kUserCases[] = {
    {kOne, "a"},
    {kOne, "-v a"},
    {kOne, "b"},
    {kOne, "nothere"},
    {kOne, "-l a"},
    {kOne, "-f a"},
    {kOne, "-R a"},
    {kOne, "-A a"},
    {kOne, "-c a"},
    {kOne, "-i a"},
    {kOne, "-n a"},
    {kOne, "-r a"},
    {kOne, "--fake -v a"},
    {kOne, "-d a"},
    {kOne, "-q a"},
    {kOne, "LABEL=x"},
    {kOne, "a b"},
    {kOne, "-q ."},
    {kOne, "-q LABEL=x"},
    {kOne, "-f nothere"},
    {kOne, "-f ."},
    {kOne, "-f LABEL=x"},
    {kOne, "-n nothere"},
    {kOne, "-r ."},
    {kOne, "-t tmpfs nothere"},
    {kOne, "-O rw ."},
    {kOne, "--fake -v nothere"},
    {kOne, "--fake -v ."},
    {kOne, "--fake -lv nothere a"},
    {kOne, "-c nothere"},
    {kOne, "-i ."},
    {kOne, "-d nothere"},
    {kLink, "-c s"},
    {kLink, "s"},
    {kFstab, "a"},
    {kFstab, "-f b"},
    {kFstab, "-lf b"},
    {kFstab, "-c b"},
    {kFstab, "b"},
    {kFstab, "-v b"},
    {kFstab, "--fake -v b"},
    {kFstab, "A"},
    {kFstab, "a b"},
    {kUtab, "a"},
    {kUtab, "-v $W/a"},
    {kTree, "-Rv a"},
    {kTypes, "-a -t ramfs"},
    {kTypes, "-av -t ramfs"},
    {kTypes, "-a -t noramfs"},
    {kTypes, "-a -O rw"},
    {kTypes, "-av -t ramfs -O rw"},
    {kTypes, "-a"},
    {kNoFstab, "a"},
    {kNoFstab, "-v a"},
    {kNoFstab, "b"},
    {kNoFstab, "nothere"},
    {kNoFstab, "-R a"},
    {kNoFstab, "-l a"},
    {kNoFstab, "a b"},
    {kNoFstab, "-f a"},
    {kNoFstab, "--fake -v a nothere"},
    {kNoFstab, "-q ."},
};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of mountinfo below the case's directory, without the numbers, which differ from run to run.
std::string what_is_left(const std::string& mountinfo) {
  std::string left;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::array<std::string, 5> first;
    for (std::string& word : first)
      words >> word;
    if (first[4].find("/w") == std::string::npos) continue;
    std::string rest;
    for (std::string word; words >> word;) {
      const std::size_t colon = word.find(':');
      rest += " " + (word.starts_with("shared:") ? word.substr(0, colon) : word);
    }
    left += first[3] + " " + first[4] + rest + "\n";
  }
  return left;
}

struct Result {
  std::string out;
  std::string err;
  std::string code;
  std::string left;
  friend bool operator==(const Result&, const Result&) = default;
};

enum class User { kSame, kOrdinary };

Result run(const Case& test, const std::string& program, User user, const std::string& scratch) {
  const std::string results = scratch + "/results";
  const std::string bin = scratch + "/bin";
  for (const char* const name : {"/out", "/err", "/code", "/left"})
    (void)unlink((results + name).c_str());
  const std::string as_user =
      user == User::kOrdinary ? "setpriv --reuid 65534 --regid 65534 --clear-groups " + bin + "/umount " : "umount ";
  const std::string script = "W=" + scratch + "/w; mount -t tmpfs -o mode=755 w $W && cd $W || exit 9\n" +
                             "mount -t tmpfs run /run/mount 2>/dev/null\n" + test.surroundings + "\nPATH=" + bin +
                             ":$PATH\n" + as_user + test.arguments + " >" + results + "/out 2>" + results + "/err\n" +
                             "echo $? >" + results + "/code; cat /proc/self/mountinfo >" + results + "/left\n" +
                             "[ -z \"$N\" ] || { cat /proc/$N/mountinfo >>" + results + "/left; kill $N; }\n" +
                             "[ -z \"$D\" ] || { cd /; /bin/umount -l $W/a; losetup -d $D; } 2>/dev/null\n";
  (void)unlink((bin + "/umount").c_str());
  EXPECT_EQ(symlink(program.c_str(), (bin + "/umount").c_str()), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0) _exit(99);
    setenv("LC_ALL", "C", 1);
    execlp("sh", "sh", "-c", script.c_str(), nullptr);
    _exit(98);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Result result{.out = read_all(results + "/out"),
                .err = read_all(results + "/err"),
                .code = read_all(results + "/code"),
                .left = what_is_left(read_all(results + "/left"))};
  // A process number is part of some messages.
  for (std::string* const text : {&result.out, &result.err}) {
    for (std::size_t at = 0; (at = text->find("/proc/", at)) != std::string::npos; at += 6) {
      std::size_t end = at + 6;
      while (end < text->size() && std::isdigit(static_cast<unsigned char>((*text)[end])) != 0)
        ++end;
      text->erase(at + 6, end - at - 6);
    }
  }
  return result;
}

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines)
    sorted += line + "\n";
  return sorted;
}

class UmountDifferential : public testing::Test {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    std::array<char, 256> line{};
    std::FILE* const version = popen("/bin/umount --version 2>&1", "r");
    if (version != nullptr) {
      if (std::fgets(line.data(), line.size(), version) == nullptr) line[0] = 0;
      pclose(version);
    }
    if (std::string(line.data()).find("util-linux 2.38") == std::string::npos)
      GTEST_SKIP() << "needs util-linux 2.38's umount, here is: " << line.data();
    scratch_ = here();
    for (const char* const name : {"/w", "/bin", "/results"})
      (void)mkdir((scratch_ + name).c_str(), 0755);
    (void)chmod((scratch_ + "/results").c_str(), 0777);
  }

  void compare(std::span<const Case> cases, const std::string& theirs, const std::string& ours, User user) {
    for (const Case& test : cases) {
      // Mount ids, by which umount(8) orders a tree, are the whole machine's: whoever else mounts meanwhile can change
      // their order between the two runs. A real difference shows every time; where the order alone still differs in a
      // tree of several mounts, the lines are compared without it.
      Result expected;
      Result actual;
      for (int round = 0; round < 5; ++round) {
        expected = run(test, theirs, user, scratch_);
        actual = run(test, ours, user, scratch_);
        if (actual == expected) break;
      }
      const std::string which = std::string("umount ") + test.arguments + "\n  after: " + test.surroundings;
      EXPECT_FALSE(expected.code.empty()) << "not run: " << which;
      EXPECT_EQ(actual.code, expected.code) << which;
      EXPECT_EQ(actual.out, expected.out) << which;
      const bool tree = std::string_view(test.arguments).find('R') != std::string_view::npos ||
                        std::string_view(test.arguments).find('A') != std::string_view::npos;
      if (!tree || sorted_lines(actual.err) != sorted_lines(expected.err)) {
        EXPECT_EQ(actual.err, expected.err) << which;
      }
      EXPECT_EQ(actual.left, expected.left) << which;
    }
  }

  std::string scratch_;
};

TEST_F(UmountDifferential, SameAsTheInstalledOne) {
  if (!initial_user_namespace()) GTEST_SKIP() << "needs root: in a user namespace the mounts of / are locked and stay";
  compare(kCases, "/bin/umount", UNMOOR_PROGRAM, User::kSame);
}

TEST_F(UmountDifferential, SameAsTheInstalledOneWithDevicesHelpersAndNamespaces) {
  if (access("/dev/loop-control", W_OK) != 0) GTEST_SKIP() << "needs loop devices";
  compare(kRootCases, "/bin/umount", UNMOOR_PROGRAM, User::kSame);
}

TEST_F(UmountDifferential, SameAsTheInstalledOneWhereSeveralGoTogether) {
  if (access("/dev/loop-control", W_OK) != 0) GTEST_SKIP() << "needs root: loop devices, helpers, namespaces";
  const auto guard = measure::RcuGuard::set(
      {.knobs = {.normal = 1, .expedited = std::nullopt}, .wait_for_lock = std::chrono::seconds(60)});
  if (!guard) GTEST_SKIP() << "needs root: to choose the kind of grace periods";
  compare(kTogetherCases, "/bin/umount", UNMOOR_PROGRAM, User::kSame);
}

TEST_F(UmountDifferential, SameAsTheInstalledOneForAnOrdinaryUser) {
  if (access("/dev/loop-control", W_OK) != 0) GTEST_SKIP() << "needs a root that may change its user";
  const std::string copy = scratch_ + "/plain-umount";
  ASSERT_EQ(std::system(("cp /bin/umount " + copy + " && chmod 755 " + copy).c_str()), 0);
  compare(kUserCases, copy, for_everybody(UNMOOR_PROGRAM), User::kOrdinary);
}

}  // namespace
}  // namespace unmoor::test
