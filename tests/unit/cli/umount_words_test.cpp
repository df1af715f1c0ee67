// SPDX-License-Identifier: MIT
// The command line and the texts of the umount verb.
#include <cerrno>
#include <getopt.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "cli/umount/exit_code.h"
#include "cli/umount/json_text.h"
#include "cli/umount/options.h"
#include "cli/umount/sentences.h"

namespace unmoor::cli::umount {
namespace {

using testing::ElementsAre;

class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_)
      argv_.push_back(word.data());
    argv_.push_back(nullptr);
  }
  std::expected<Options, int> parse(Voice voice) {
    optind = 0;  // glibc: start again from nothing
    return parse_options(voice, static_cast<int>(words_.size()), argv_.data());
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

std::string json_member(std::string_view name, std::string_view text) {
  std::string out;
  append_json_member(out, name, text);
  return out;
}

TEST(UmountOptions, AreBundledAbbreviatedAndPermuted) {
  CommandLine line({"umount", "a", "-lv", "b", "--for", "c", "--no-m"});
  const auto options = line.parse(Voice::kUmount);
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->lazy);
  EXPECT_TRUE(options->verbose);
  EXPECT_TRUE(options->force);
  EXPECT_TRUE(options->no_mtab);
  EXPECT_THAT(std::vector<std::string>(options->targets.begin(), options->targets.end()), ElementsAre("a", "b", "c"));
}

TEST(UmountOptions, OwnOnesAreUnknownToUmount8) {
  for (const char* const own : {"--json", "--defer=never", "--jobs=3", "--all-or-nothing"}) {
    CommandLine as_umount({"umount", own, "a"});
    testing::internal::CaptureStderr();
    const auto refused = as_umount.parse(Voice::kUmount);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_FALSE(refused) << own;
    EXPECT_EQ(refused.error(), kExitUsage);
    EXPECT_NE(said.find("unrecognized option"), std::string::npos) << said;
    CommandLine as_unmoor({"umount", "-R", own, "a"});
    EXPECT_TRUE(as_unmoor.parse(Voice::kUnmoor)) << own;
  }
}

TEST(UmountOptions, BadValuesOfOwnOptionsAreUsageErrors) {
  for (const char* const bad : {"--defer=soon", "--jobs=0", "--jobs=x", "--jobs=99999999999"}) {
    CommandLine line({"umount", bad, "a"});
    testing::internal::CaptureStderr();
    const auto refused = line.parse(Voice::kUnmoor);
    EXPECT_FALSE(testing::internal::GetCapturedStderr().empty()) << bad;
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error(), kExitUsage);
  }
}

TEST(JsonText, PlainTextIsQuoted) {
  EXPECT_EQ(json_member("target", "/mnt/a b"), R"("target": "/mnt/a b")");
  EXPECT_EQ(json_member("target", "a\"b\\c\nd"), R"("target": "a\"b\\c\u000ad")");
  EXPECT_EQ(json_member("target", "\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\x9F"),
            "\"target\": \"\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\x9F\"");
}

TEST(JsonText, WhatIsNotUtf8IsReplacedAndToldExactly) {
  EXPECT_EQ(json_member("t", "a\xFFz"), "\"t\": \"a\xEF\xBF\xBDz\", \"t_raw\": {\"bytes\": \"61ff7a\"}");
  for (const char* const bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
                                "\xF5\x80\x80\x80", "\xE2\x82", "\x80"})
    EXPECT_NE(json_member("t", bad).find("_raw"), std::string::npos) << bad;
}

TEST(Sentences, AreThoseOfUmount8) {
  EXPECT_EQ(failure_sentence(EBUSY), "target is busy");
  EXPECT_EQ(failure_sentence(EINVAL), "not mounted");
  EXPECT_EQ(failure_sentence(ENAMETOOLONG), "umount(2) system call failed: File name too long");
}

}  // namespace
}  // namespace unmoor::cli::umount
