// SPDX-License-Identifier: MIT
// The table changes while the program reads it and works: no mount is missed, none comes twice, none is taken that was
// not asked for.
#include <deque>
#include <map>

#include <nlohmann/json.hpp>

#include "kernel/umount/umount_tree.h"
#include "support/child.h"
#include "support/long_count.h"

namespace unmoor::test {
namespace {

// Mounts and unmounts at `path` until it is killed. Ends with 1 as soon as somebody else took its mount.
class Churn {
 public:
  explicit Churn(const std::string& path)
      : process_([path](const auto& ready) {
          (void)mkdir(path.c_str(), 0755);
          ready();
          for (;;) {
            if (mount("churn", path.c_str(), "tmpfs", 0, "size=4k") != 0) return 2;
            if (umount2(path.c_str(), 0) != 0) return 1;
          }
        }) {}
  [[nodiscard]] bool undisturbed() {
    kill(process_.pid(), SIGKILL);
    const int status = process_.wait();
    return WIFSIGNALED(status);
  }

 private:
  Child process_;
};

class UmountComingAndGoing : public UmountTree {
 protected:
  void mount_flat(int count, const char* type) const {
    for (int i = 0; i < count; ++i) {
      const std::string at = path(std::to_string(i));
      (void)mkdir(at.c_str(), 0755);
      ASSERT_EQ(mount("flat", at.c_str(), type, 0, nullptr), 0);
    }
  }
  // Each target of the JSON below `top_` and how often it is named there.
  [[nodiscard]] std::map<std::string, int> named(const std::string& json) const {
    std::map<std::string, int> times;
    const nlohmann::json all = nlohmann::json::parse(json);
    for (const nlohmann::json& target : all.at("targets")) {
      const std::string name = target.at("target");
      if (name.starts_with(top_)) ++times[name];
    }
    return times;
  }
};

TEST_F(UmountComingAndGoing, TwentyThousandGoInOneCall) {
  mount_at("source");
  const int count = long_count(20000, 5);
  for (int i = 0; i < count; ++i) {
    const std::string at = path("b" + std::to_string(i));
    ASSERT_EQ(mkdir(at.c_str(), 0755), 0);
    ASSERT_EQ(mount(path("source").c_str(), at.c_str(), nullptr, MS_BIND, nullptr), 0);
  }
  ASSERT_EQ(left(), static_cast<std::size_t>(count) + 2);
  const Ran ran = umount({"-R", top_});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(left(), 0U);
}

TEST_F(UmountComingAndGoing, NoneIsMissedAndNoneComesTwiceInATree) {
  const std::string other = here_ + "/other";
  (void)mkdir(other.c_str(), 0755);
  std::deque<Churn> churn;
  for (int i = 0; i < 3; ++i)
    churn.emplace_back(other + std::to_string(i));
  const int count = 400;
  for (int round = 0; round < long_count(30, 6); ++round) {
    if (round != 0) {
      ASSERT_EQ(mount("top", top_.c_str(), "tmpfs", 0, nullptr), 0);
    }
    mount_flat(count, "tmpfs");
    const Ran ran = umount({"-R", "--json", top_});
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_EQ(left(), 0U);
    const auto times = named(ran.out);
    EXPECT_EQ(times.size(), static_cast<std::size_t>(count) + 1);
    for (const auto& [name, often] : times)
      EXPECT_EQ(often, 1) << name;
  }
  for (Churn& one : churn)
    EXPECT_TRUE(one.undisturbed()) << "somebody took a mount that was not asked for";
}

TEST_F(UmountComingAndGoing, NoneIsMissedAndNoneComesTwiceOfAType) {
  std::deque<Churn> churn;
  for (int i = 0; i < 3; ++i)
    churn.emplace_back(path("churn" + std::to_string(i)));
  const int count = 300;
  for (int round = 0; round < long_count(30, 6); ++round) {
    mount_flat(count, "ramfs");
    const Ran ran = umount({"-a", "-t", "ramfs", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(occurrences(file_text("/proc/self/mountinfo"), " - ramfs flat "), 0U);
    const auto times = named(ran.out);
    EXPECT_EQ(times.size(), static_cast<std::size_t>(count));
    for (const auto& [name, often] : times)
      EXPECT_EQ(often, 1) << name;
  }
  for (Churn& one : churn)
    EXPECT_TRUE(one.undisturbed()) << "somebody took a mount of another type";
}

TEST_F(UmountComingAndGoing, WhatComesInTheMiddleOfATreeStaysOrGoesButIsToldOnce) {
  mount_flat(300, "tmpfs");
  const Child busy([this](const auto& ready) {
    ready();
    for (int i = 0;; ++i) {
      const std::string at = path(std::to_string(i % 300)) + "/inner" + std::to_string(i);
      (void)mkdir(at.c_str(), 0755);
      (void)mount("inner", at.c_str(), "tmpfs", 0, "size=4k");
    }
    return 0;
  });
  const Ran ran = umount({"-R", "--json", top_});
  for (const auto& [name, often] : named(ran.out))
    EXPECT_EQ(often, 1) << name;
  EXPECT_EQ(ran.code == 0, left() == 0) << ran.out;
}

TEST_F(UmountComingAndGoing, TwoProgramsOnOneTreeLeaveNothingAndTakeNothingElse) {
  const std::string beside = here_ + "/beside";
  (void)mkdir(beside.c_str(), 0755);
  ASSERT_EQ(mount("beside", beside.c_str(), "tmpfs", 0, nullptr), 0);
  for (int round = 0; round < long_count(50, 10); ++round) {
    if (round != 0) {
      ASSERT_EQ(mount("top", top_.c_str(), "tmpfs", 0, nullptr), 0);
    }
    mount_flat(400, "tmpfs");
    Child other([this](const auto& ready) {
      ready();
      std::vector<std::string> command = words({"-R", "-q", top_});
      exec_words(command);
      return 0;
    });
    (void)umount({"-R", "-q", top_});
    (void)other.wait();
    // The last one may have been busy for one of them while the other walked through it.
    if (left() != 0) {
      EXPECT_EQ(umount({"-R", top_}).code, 0);
    }
    EXPECT_EQ(left(), 0U);
  }
  EXPECT_EQ(umount2(beside.c_str(), 0), 0) << "it was not asked for";
}

}  // namespace
}  // namespace unmoor::test
