// SPDX-License-Identifier: MIT
// The verbs beside a server that hangs and a process in state D, their JSON, and their terminal.
#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/child.h"
#include "support/here.h"
#include "support/hung_fuse.h"
#include "support/loop_device.h"
#include "support/mount_rights.h"
#include "support/planted.h"
#include "support/program.h"
#include "support/tmpfs_at_x.h"

namespace unmoor::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Ran unmoor(std::vector<std::string> words) {
  words.insert(words.begin(), UNMOOR_PROGRAM);
  return run_program(std::move(words));
}

// ---- a machine in trouble ----

struct Verb {
  const char* name;
  std::vector<std::string> words;
  std::vector<int> codes;  // any of these
};

void PrintTo(const Verb& verb, std::ostream* out) {
  *out << verb.name;
}

class BesideAHungServer : public testing::TestWithParam<Verb> {
 protected:
  void SetUp() override {
    UNMOOR_NEEDS_MOUNTS();
    for (const char* const name : {"X", "F"})
      mkdir(name, 0755);
    fuse_ = std::make_unique<HungFuse>("F");
    if (!fuse_->ready()) GTEST_SKIP() << "needs /dev/fuse";
    fuse_->add_victim();
    ASSERT_EQ(mount("x", "X", "tmpfs", 0, nullptr), 0);
    // In D until it is killed: the parent of a vfork. It holds X.
    holder_ = std::make_unique<Child>([](const std::function<void()>& ready) {
      if (chdir("X") != 0) return 1;
      ready();
      if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
          pause();
      }
      return 0;
    });
    ASSERT_TRUE(holder_->ready());
    const std::string stat = "/proc/" + std::to_string(holder_->pid()) + "/stat";
    for (std::string text = "("; text.find(") D ") == std::string::npos; text = file_text(stat))
      usleep(1000);
    std::ofstream("script") << "mkdir /a\nmount disk /a\numount /a\n";
  }
  void TearDown() override {
    holder_.reset();
    fuse_.reset();
    for (const char* const name : {"X", "F"})
      umount2(name, MNT_DETACH);
  }

  std::unique_ptr<HungFuse> fuse_;
  std::unique_ptr<Child> holder_;
};

// Less than two seconds: a loaded machine may need more once, a verb that hangs always does.
TEST_P(BesideAHungServer, EveryVerbAnswers) {
  Ran ran;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ran = unmoor(GetParam().words);
    EXPECT_THAT(GetParam().codes, testing::Contains(ran.code)) << ran.err;
    if (ran.took < std::chrono::seconds(2)) break;
  }
  EXPECT_LT(ran.took, std::chrono::seconds(2));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, BesideAHungServer,
    testing::Values(Verb{"who", {"who", "X"}, {0}}, Verb{"who_of_it", {"who", "F"}, {0, 1}},
                    Verb{"wait", {"wait", "--timeout=0.1", "X"}, {32}}, Verb{"wait_for_it", {"wait", "F"}, {32}},
                    Verb{"umount", {"umount", "X"}, {32}}, Verb{"umount_of_it", {"umount", "F"}, {0, 32}},
                    Verb{"umount_lazily", {"umount", "-l", "F"}, {0, 32}},
                    Verb{"umount_all_or_nothing", {"umount", "-R", "--all-or-nothing", "X"}, {32}},
                    Verb{"doctor", {"doctor"}, {0, 1}}, Verb{"exec", {"exec", "--", "/bin/true"}, {0}},
                    Verb{"tree_on_kernel", {"tree", "script", "--on", "kernel"}, {0}},
                    Verb{"bench", {"bench", "umount", "-r", "1", "--private", "--only", "umount"}, {0}}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

// ---- JSON ----

// Type of each key that a holder or a target may have; '!' behind it: always there.
const std::map<std::string, std::string> kHolderKeys = {
    {"kind", "string!"},     {"prevents", "string!"},  {"certain", "boolean!"},
    {"pid", "number"},       {"tid", "number"},        {"command", "string"},
    {"uid", "number"},       {"user", "string"},       {"unit", "string"},
    {"container", "string"}, {"descriptor", "number"}, {"path", "string"},
    {"deleted", "boolean"},  {"mount_id", "number"},   {"mount_namespace", "number"},
    {"detail", "string"},    {"release", "string"}};
const std::map<std::string, std::string> kTargetKeys = {
    {"target", "string!"}, {"scope", "string!"},      {"mounted", "boolean!"}, {"unexplained", "boolean!"},
    {"holders", "array!"}, {"mount_point", "string"}, {"mount_id", "number"},  {"type", "string"},
    {"source", "string"},  {"superblock", "string"},  {"device", "string"}};
const std::set<std::string> kKinds = {"descriptor",
                                      "path-descriptor",
                                      "working-directory",
                                      "root-directory",
                                      "executable",
                                      "mapping",
                                      "in-flight",
                                      "io_uring-file",
                                      "bound-socket",
                                      "nested-mount",
                                      "swap",
                                      "loop",
                                      "binary-format",
                                      "uprobe",
                                      "nfs-export",
                                      "mount",
                                      "namespace",
                                      "namespace-by-descriptor",
                                      "namespace-by-mount",
                                      "namespace-unexplained",
                                      "detached-tree",
                                      "overlay",
                                      "stacked-device",
                                      "device-descriptor"};

void expect_schema(const json& object, const std::map<std::string, std::string>& keys) {
  for (const auto& [key, value] : object.items()) {
    ASSERT_TRUE(keys.contains(key)) << "not documented: " << key;
    const std::string& type = keys.at(key);
    EXPECT_EQ(value.type_name(), type.substr(0, type.find('!'))) << key;
  }
  for (const auto& [key, type] : keys) {
    if (type.ends_with('!')) {
      EXPECT_TRUE(object.contains(key)) << key;
    }
  }
}

// Keys of the whole document: those and no others.
std::set<std::string> keys_of(const json& document) {
  std::set<std::string> keys;
  for (const auto& [key, value] : document.items())
    keys.insert(key);
  return keys;
}

const std::set<std::string> kWhoKeys = {"targets", "notes"};
const std::set<std::string> kWaitKeys = {"target", "outcome", "device_free"};
const std::set<std::string> kWaitInVainKeys = {"target", "outcome", "device_free", "targets", "notes"};
const std::set<std::string> kUmountKeys = {"targets"};
const std::set<std::string> kBusyUmountKeys = {"targets", "busy", "notes"};

void expect_inquiry(const json& document) {
  for (const json& note : document.at("notes"))
    EXPECT_TRUE(note.is_string());
  for (const json& target : document.at("targets")) {
    expect_schema(target, kTargetKeys);
    EXPECT_TRUE(target["scope"] == "mount" || target["scope"] == "filesystem");
    for (const json& holder : target["holders"]) {
      expect_schema(holder, kHolderKeys);
      EXPECT_TRUE(kKinds.contains(holder["kind"])) << holder["kind"];
      EXPECT_TRUE(holder["prevents"] == "unmount" || holder["prevents"] == "shutdown" ||
                  holder["prevents"] == "device");
    }
  }
}

class Json : public TmpfsAtX {
 protected:
  void SetUp() override {
    TmpfsAtX::SetUp();
    std::ofstream("X/file") << "text";
  }
};

TEST_F(Json, IsAsDocumentedForEveryKind) {
  std::vector<std::unique_ptr<Planted>> planted;
  for (const char* const kind :
       {"descriptor", "deleted", "thread-cwd", "mapping", "in-flight", "io_uring-file", "bound-socket", "namespace",
        "namespace-descriptor", "namespace-mount", "detached-tree", "nested-mount", "bind-copy", "overlay", "loop"}) {
    auto one = std::make_unique<Planted>(kind, here() + "/X");
    if (one->ready()) planted.push_back(std::move(one));
  }
  const Ran ran = unmoor({"who", "--json", here() + "/X", "/"});
  planted.clear();
  EXPECT_EQ(ran.code, 0);
  const json document = json::parse(ran.out);
  expect_inquiry(document);
  EXPECT_EQ(keys_of(document), kWhoKeys);
  ASSERT_EQ(document["targets"].size(), 2U);
  EXPECT_EQ(document["targets"][0]["mount_point"], here() + "/X");
  EXPECT_EQ(document["targets"][0]["type"], "tmpfs");
  EXPECT_GE(document["targets"][0]["holders"].size(), 5U);
}

TEST_F(Json, OfAWaitHasItsOutcome) {
  const json mounted = json::parse(unmoor({"wait", "--json", here() + "/X"}).out);
  EXPECT_EQ(mounted["outcome"], "mounted");
  EXPECT_EQ(mounted["device_free"], false);
  EXPECT_EQ(keys_of(mounted), kWaitInVainKeys);
  EXPECT_EQ(mounted["target"], here() + "/X");
  expect_inquiry(mounted);
  const int held = open("X/file", O_RDONLY | O_CLOEXEC);
  struct ::statx facts;
  ASSERT_EQ(statx(held, "", AT_EMPTY_PATH, 0x1000 /* STATX_MNT_ID */, &facts), 0);
  ASSERT_EQ(umount2("X", MNT_DETACH), 0);
  const std::string id = std::to_string(facts.stx_mnt_id);
  // Never given to another mount, as `id` is as soon as this one is gone. Before Linux 6.8 the same as `id`.
  ASSERT_EQ(statx(held, "", AT_EMPTY_PATH, 0x4000 /* STATX_MNT_ID_UNIQUE */, &facts), 0);
  const std::string lasting_id = (facts.stx_mask & 0x4000) != 0 ? std::to_string(facts.stx_mnt_id) : id;
  const Ran waited = unmoor({"wait", "--json", "--timeout=0.1", id});
  std::jthread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    close(held);
  });
  const Ran in_time = unmoor({"wait", "--json", "--timeout=20", id});
  releaser.join();
  EXPECT_EQ(waited.code, 124);
  const json in_use = json::parse(waited.out);
  EXPECT_EQ(in_use["outcome"], "held");
  EXPECT_EQ(keys_of(in_use), kWaitInVainKeys);
  expect_inquiry(in_use);
  EXPECT_EQ(in_time.code, 0) << in_time.err;
  const json gone = json::parse(in_time.out);
  EXPECT_EQ(gone["outcome"], "gone");
  EXPECT_EQ(keys_of(gone), kWaitKeys);
  // It printed nothing for what was gone before it could look.
  const Ran too_late = unmoor({"wait", "--json", lasting_id});
  EXPECT_EQ(too_late.code, 0);
  EXPECT_EQ(keys_of(json::parse(too_late.out)), kWaitKeys);
}

TEST_F(Json, OfABusyUnmountHasTheSameHolders) {
  const Planted holder("deleted", here() + "/X");
  ASSERT_TRUE(holder.ready());
  const Ran ran = unmoor({"umount", "--json", here() + "/X"});
  EXPECT_EQ(ran.code, 32);
  const json document = json::parse(ran.out);
  EXPECT_EQ(keys_of(document), kBusyUmountKeys);
  ASSERT_EQ(document.at("busy").size(), 1U);
  const json& busy = document["busy"][0];
  EXPECT_EQ(busy["mount_point"], here() + "/X");
  EXPECT_EQ(busy["unexplained"], false);
  ASSERT_GE(busy["holders"].size(), 1U);
  EXPECT_EQ(busy["holders"][0]["pid"], holder.pid());
  EXPECT_EQ(busy["holders"][0]["deleted"], true);
  for (const json& one : busy["holders"])
    expect_schema(one, kHolderKeys);
  EXPECT_TRUE(document.at("notes").is_array());
  const Ran detached = unmoor({"umount", "--json", "-l", here() + "/X"});
  EXPECT_EQ(detached.code, 0) << detached.err;
  EXPECT_EQ(keys_of(json::parse(detached.out)), kUmountKeys);
}

TEST_F(Json, IsWellFormedForNamesOfAnyBytes) {
  const std::string odd = std::string("X/\xff\n\"\\ x");
  const int held = open(odd.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const json document = json::parse(unmoor({"who", "--json", here() + "/X"}).out);
  const json busy = json::parse(unmoor({"umount", "--json", here() + "/X"}).out);
  close(held);
  expect_inquiry(document);
  for (const json& holder : {document["targets"][0]["holders"][0], busy["busy"][0]["holders"][0]})
    EXPECT_EQ(holder["path"], here() + "/X/\xEF\xBF\xBD\n\"\\ x");
}

// ---- the terminal ----

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, '\r');
    width = std::max(width, line.size());
  }
  return width;
}

TEST_F(Json, TheTableFitsTheTerminal) {
  const std::string longest(200, 'n');
  const int held = open(("X/" + longest).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const Planted holder("descriptor", here() + "/X");
  std::size_t last = 0;
  for (const unsigned short columns : {60, 80, 120}) {
    const Ran ran = run_on_terminal({UNMOOR_PROGRAM, "who", here() + "/X"}, columns);
    if (ran.code < 0) GTEST_SKIP() << "needs /dev/ptmx";
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("WHERE"));
    EXPECT_THAT(ran.out, HasSubstr(std::to_string(holder.pid())));
    const std::size_t begin = ran.out.find("WHAT");
    const std::string table = ran.out.substr(begin, ran.out.find("Note: ") - begin);
    EXPECT_LE(widest(table), columns) << table;
    EXPECT_GT(widest(table), last) << "room that is not used";
    last = widest(table);
  }
  const Ran plain = unmoor({"who", here() + "/X"});
  EXPECT_THAT(plain.out, HasSubstr(longest)) << "what is no terminal gets all of it";
  close(held);
}

// An ext4 with unwritten data that is held for a moment; some of it is written meanwhile.
TEST(OnATerminal, AWaitShowsWhatIsLeftToWrite) {
  UNMOOR_NEEDS_MOUNTS();
  mkdir("X", 0755);
  LoopDevice loop("progress-image", 64);
  if (!loop.ready() || !loop.make_ext4() || mount(loop.node().c_str(), "X", "ext4", 0, nullptr) != 0)
    GTEST_SKIP() << "needs a loop device with ext4";
  std::ofstream("X/dirty") << std::string(24 << 20, 'd');
  std::ofstream("X/file") << "text";
  Child writer([](const std::function<void()>& ready) {
    const int file = open("X/file", O_RDWR | O_CLOEXEC);
    const std::string block(1 << 20, 'w');
    ready();
    for (;;) {
      if (pwrite(file, block.data(), block.size(), 0) < 0 || fdatasync(file) != 0) return 1;
      usleep(20000);
    }
  });
  ASSERT_TRUE(writer.ready());
  const Ran ran = run_on_terminal({UNMOOR_PROGRAM, "umount", "-l", "--wait=1", here() + "/X"}, 80);
  if (ran.code < 0) GTEST_SKIP() << "needs /dev/ptmx";
  EXPECT_EQ(ran.code, 124);
  const std::regex whole(R"(\r\x1b\[K(at most )?[0-9.]+ MiB left, [0-9.]+ MiB/s, [0-9]+ s)");
  EXPECT_TRUE(std::regex_search(ran.out, whole)) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("\r\033[Kumount: ")) << "the line stays";
  const Ran wait = run_on_terminal({UNMOOR_PROGRAM, "wait", "--timeout=1", loop.node()}, 80);
  EXPECT_EQ(wait.code, 124);
  EXPECT_TRUE(std::regex_search(wait.out, whole)) << wait.out;
  const Ran piped = unmoor({"wait", "--timeout=1", loop.node()});
  EXPECT_EQ(piped.err.find(" left"), std::string::npos) << piped.err;
}

}  // namespace
}  // namespace unmoor::test
