// SPDX-License-Identifier: MIT
#include "exec/environment.h"

#include <cstdint>
#include <elf.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unmoor::exec {
namespace {

using testing::ElementsAre;

constexpr char kLibrary[] = "/usr/lib/unmoor/libunmoor-exec.so";

Token some_token() {
  Token token;
  for (std::size_t i = 0; i < kSecretSize; ++i) {
    token.name[i] = static_cast<std::uint8_t>(i);
    token.client_secret[i] = static_cast<std::uint8_t>(0xf0 + i);
    token.broker_secret[i] = static_cast<std::uint8_t>(0x80 - i);
  }
  token.device = 0xfe00;
  token.inode = ~std::uint64_t{0};
  return token;
}

// An environment as the kernel lays it out: the pointers, NULL, then the auxiliary vector.
class OnStack {
 public:
  explicit OnStack(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries)
      texts_.emplace_back(entry.begin(), entry.end() + 1);
    for (std::vector<char>& text : texts_)
      slots_.push_back(text.data());
    slots_.push_back(nullptr);
    vector_ = slots_.size();
    slots_.push_back(reinterpret_cast<char*>(std::uintptr_t{AT_PAGESZ}));
    slots_.push_back(reinterpret_cast<char*>(std::uintptr_t{4096}));
    slots_.push_back(nullptr);
    slots_.push_back(nullptr);
  }

  char** environment() { return slots_.data(); }

  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (char* const* entry = slots_.data(); *entry != nullptr; ++entry)
      out.emplace_back(*entry);
    return out;
  }

  // What somebody who looks for the auxiliary vector behind the NULL finds under `type`.
  std::uintptr_t auxiliary(std::uintptr_t type) const {
    char* const* at = slots_.data();
    while (*at != nullptr)
      ++at;
    for (++at; reinterpret_cast<std::uintptr_t>(at[0]) != AT_NULL; at += 2)
      if (reinterpret_cast<std::uintptr_t>(at[0]) == type) return reinterpret_cast<std::uintptr_t>(at[1]);
    return 0;
  }

  // The bytes of all texts, as /proc/PID/environ shows them.
  std::string bytes() const {
    std::string out;
    for (const std::vector<char>& text : texts_)
      out.append(text.begin(), text.end());
    return out;
  }

 private:
  std::vector<std::vector<char>> texts_;
  std::vector<char*> slots_;
  std::size_t vector_ = 0;
};

std::vector<std::string> with_shim(const Environment& environment, const std::vector<std::string>& entries) {
  std::vector<char*> given;
  for (const std::string& entry : entries)
    given.push_back(const_cast<char*>(entry.c_str()));
  given.push_back(nullptr);
  const Environment::Room room = environment.room_with(given.data());
  std::vector<char*> out(room.pointers);
  std::string text(room.text, '\0');
  environment.with(given.data(), out.data(), text.data());
  EXPECT_EQ(out.back(), nullptr);
  return {out.begin(), out.end() - 1};
}

TEST(Environment, TheShimSeesItsTokenAndTheProgramSeesNothing) {
  Environment launcher;
  ASSERT_TRUE(launcher.set(some_token(), kLibrary));
  OnStack stack(with_shim(launcher, {"A=1", "B=2"}));
  Environment shim;
  ASSERT_TRUE(shim.take_from(stack.environment()));
  EXPECT_THAT(stack.entries(), ElementsAre("A=1", "B=2"));
  EXPECT_EQ(stack.auxiliary(AT_PAGESZ), 4096U);
  EXPECT_EQ(stack.bytes().find("UNMOOR"), std::string::npos);
  EXPECT_STREQ(shim.library(), kLibrary);
  EXPECT_EQ(shim.token().inode, some_token().inode);
  EXPECT_EQ(shim.token().device, some_token().device);
  EXPECT_EQ(std::memcmp(shim.token().broker_secret, some_token().broker_secret, kSecretSize), 0);
}

TEST(Environment, APreloadOfTheProgramsOwnComesBackInItsPlace) {
  Environment launcher;
  ASSERT_TRUE(launcher.set(some_token(), kLibrary));
  const std::vector<std::string> entries = with_shim(launcher, {"A=1", "LD_PRELOAD=/lib/x.so:/lib/y.so", "B=2"});
  EXPECT_EQ(entries[1], std::string("LD_PRELOAD=") + kLibrary + ":/lib/x.so:/lib/y.so");
  OnStack stack(entries);
  Environment shim;
  ASSERT_TRUE(shim.take_from(stack.environment()));
  EXPECT_THAT(stack.entries(), ElementsAre("A=1", "LD_PRELOAD=/lib/x.so:/lib/y.so", "B=2"));
  EXPECT_EQ(stack.auxiliary(AT_PAGESZ), 4096U);
  EXPECT_STREQ(shim.library(), kLibrary);
}

TEST(Environment, AnEmptyEnvironmentAndAnEmptyPreloadSurvive) {
  Environment launcher;
  ASSERT_TRUE(launcher.set(some_token(), kLibrary));
  for (const std::vector<std::string>& given : {std::vector<std::string>{}, {"LD_PRELOAD="}}) {
    OnStack stack(with_shim(launcher, given));
    Environment shim;
    ASSERT_TRUE(shim.take_from(stack.environment()));
    EXPECT_EQ(stack.entries(), given);
  }
}

TEST(Environment, WithoutTheTokenNothingIsTouched) {
  const std::vector<std::string> given = {"LD_PRELOAD=/lib/x.so", "A=1"};
  OnStack stack(given);
  Environment shim;
  EXPECT_FALSE(shim.take_from(stack.environment()));
  EXPECT_EQ(stack.entries(), given);
}

TEST(Environment, AForgedTokenIsLeftAlone) {
  for (const char* text : {"", ".", "00", "zz.00.00.0.0.0"}) {
    const std::vector<std::string> given = {std::string("UNMOOR_EXEC=") + text, "LD_PRELOAD=/lib/x.so"};
    OnStack stack(given);
    Environment shim;
    EXPECT_FALSE(shim.take_from(stack.environment())) << text;
    EXPECT_EQ(stack.entries(), given);
  }
}

TEST(Environment, APathThatCannotBePreloadedIsRefused) {
  Environment launcher;
  EXPECT_FALSE(launcher.set(some_token(), "/opt/a:b/lib.so"));
  EXPECT_FALSE(launcher.set(some_token(), "/opt/a b/lib.so"));
  EXPECT_FALSE(launcher.set(some_token(), std::string(5000, 'x').c_str()));
}

}  // namespace
}  // namespace unmoor::exec
