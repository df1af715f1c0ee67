// SPDX-License-Identifier: MIT
// The harness itself: the kernel agrees with the kernel, and a side that is wrong in one way is found and cut down to
// it.
#include <gtest/gtest.h>

#include "cli/tree/kernel_runner.h"
#include "cli/tree/script.h"
#include "differential/generator.h"
#include "differential/shrink.h"
#include "support/mount_rights.h"

namespace unmoor::differential {
namespace {

using cli::tree::KernelRunner;
using cli::tree::Listing;
using cli::tree::Operation;
using cli::tree::Verb;

// The kernel, but it forgets every rslave.
class Forgetful {
 public:
  static Result<Forgetful> start() {
    Result<KernelRunner> kernel = KernelRunner::start();
    if (!kernel) return std::unexpected(kernel.error());
    return Forgetful(std::move(*kernel));
  }
  Result<int> run(const Operation& operation) {
    if (operation.verb == Verb::kSlave && operation.recursive) return 0;
    return kernel_.run(operation);
  }
  Result<Listing> list(const std::string& ns) { return kernel_.list(ns); }

 private:
  explicit Forgetful(KernelRunner kernel) : kernel_(std::move(kernel)) {}
  KernelRunner kernel_;
};

Script parse(const char* text) {
  auto script = cli::tree::parse_script(text);
  return script ? std::move(*script) : Script{};
}

TEST(Generator, SameSeedSameScript) {
  EXPECT_EQ(script_text(generate(7)), script_text(generate(7)));
  EXPECT_NE(script_text(generate(7)), script_text(generate(8)));
}

TEST(Generator, WritesWhatTheParserReads) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::string text = script_text(generate(seed));
    const auto parsed = cli::tree::parse_script(text);
    ASSERT_TRUE(parsed) << parsed.error().message << "\n" << text;
    EXPECT_EQ(script_text(*parsed), text);
  }
}

TEST(DifferentialHarness, TheKernelAgreesWithItself) {
  UNMOOR_NEEDS_MOUNTS();
  const Start kernel = start_of<KernelRunner>();
  std::size_t done = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Script script = generate(seed);
    const Result<Comparison> comparison = compare(kernel, kernel, script, ListEvery::kFourthStep);
    ASSERT_TRUE(comparison) << comparison.error().doing << " seed " << seed;
    ASSERT_FALSE(comparison->divergence) << "seed " << seed << " " << comparison->divergence->message;
    done += comparison->compared;
  }
  EXPECT_GT(done, 600U);
}

TEST(DifferentialHarness, CutsADifferenceDownToItsCause) {
  UNMOOR_NEEDS_MOUNTS();
  const Script script = parse(
      "mkdir /a\nmkdir /b\nmount A /a\nmount B /b\nshared /b\nattr /a nosuid\nrslave /b\numount /a\nmkdir /b/x\n"
      "umount -l /b\n");
  const Result<Script> minimal = shrink(start_of<Forgetful>(), start_of<KernelRunner>(), script);
  ASSERT_TRUE(minimal);
  EXPECT_EQ(script_text(*minimal), "mkdir /b\nmount B /b\nshared /b\nrslave /b\n");
}

TEST(DifferentialHarness, SeesAWrongErrno) {
  UNMOOR_NEEDS_MOUNTS();
  const Script script = parse("rslave /none\n");
  const Result<Comparison> comparison =
      compare(start_of<Forgetful>(), start_of<KernelRunner>(), script, ListEvery::kStep);
  ASSERT_TRUE(comparison);
  ASSERT_TRUE(comparison->divergence);
  EXPECT_EQ(comparison->divergence->message, "OK here, ENOENT there");
}

}  // namespace
}  // namespace unmoor::differential
