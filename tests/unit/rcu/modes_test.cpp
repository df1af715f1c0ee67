// SPDX-License-Identifier: MIT
// The four modes against Linux's precedence, written out as a table.
#include <vector>

#include <gmock/gmock.h>

#include "unmoor/tree/grace_period.h"

namespace unmoor::rcu {
namespace {

struct Row {
  const char* modes;
  Kind booting_normal, booting_expedited;  // what a request for either kind gets while booting
  Kind normal, expedited;                  // and after
  const char* line;
};

constexpr Kind N = Kind::normal;
constexpr Kind E = Kind::expedited;

const std::vector<Row> kRows = {
    {"", E, E, N, E, ""},
    {"normal", N, N, N, N, "No expedited grace period (rcu_normal)."},
    {"expedited", E, E, E, E, "All grace periods are expedited (rcu_expedited)."},
    {"normal,expedited", N, N, N, N, "No expedited grace period (rcu_normal)."},
    {"normal_after_boot", E, E, N, N, "No expedited grace period (rcu_normal_after_boot)."},
    {"normal_after_boot,expedited", E, E, N, N, "No expedited grace period (rcu_normal_after_boot)."},
    {"realtime", E, E, N, N, "No expedited grace period (rcu_normal_after_boot)."},
    {"realtime,expedited", E, E, N, N, "No expedited grace period (rcu_normal_after_boot)."},
    {"realtime,normal", N, N, N, N, "No expedited grace period (rcu_normal)."},
};

TEST(Modes, HaveLinuxsPrecedenceAndBootLine) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.modes);
    const auto modes = parse_modes(row.modes);
    ASSERT_TRUE(modes.has_value());
    EXPECT_EQ(kind_in_effect(N, *modes, Boot::running), row.booting_normal);
    EXPECT_EQ(kind_in_effect(E, *modes, Boot::running), row.booting_expedited);
    EXPECT_EQ(kind_in_effect(N, *modes, Boot::ended), row.normal);
    EXPECT_EQ(kind_in_effect(E, *modes, Boot::ended), row.expedited);
    EXPECT_EQ(boot_line(*modes), row.line);
  }
}

TEST(Modes, UnknownWordIsNoMode) {
  EXPECT_FALSE(parse_modes("fast").has_value());
  EXPECT_FALSE(parse_modes("normal,").has_value() && !parse_modes("normal,")->normal);
  EXPECT_FALSE(parse_modes("expedited,,normal").has_value());
  EXPECT_EQ(*parse_modes("realtime"), (Modes{.realtime = true}));
}

}  // namespace
}  // namespace unmoor::rcu
