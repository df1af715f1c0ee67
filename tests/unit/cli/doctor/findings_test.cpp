// SPDX-License-Identifier: MIT
#include "cli/doctor/findings.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/doctor/report.h"

namespace unmoor::cli::doctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Facts healthy() {
  Facts facts;
  facts.system.release = "6.12.0";
  facts.system.rcu_normal = 0;
  facts.system.rcu_expedited = 0;
  facts.cost = Cost{.plain = 12, .lazy = 14};
  facts.mounts = 40;
  facts.table_read = 100;
  facts.dirty = 900ULL << 20;  // of files that no overlay has to do with
  return facts;
}

std::vector<std::string> ids(const Facts& facts) {
  std::vector<std::string> found;
  for (const Finding& finding : diagnose(facts))
    found.push_back(finding.id);
  return found;
}

Finding only(const Facts& facts) {
  const std::vector<Finding> findings = diagnose(facts);
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? Finding{} : findings.front();
}

TEST(DoctorFindings, NothingOnAHealthyMachine) {
  EXPECT_THAT(diagnose(healthy()), IsEmpty());
}

TEST(DoctorFindings, SomebodySetRcuNormal) {
  Facts facts = healthy();
  facts.system.rcu_normal = 1;
  facts.cost = Cost{.plain = 9200, .lazy = 15900};
  const Finding finding = only(facts);
  EXPECT_EQ(finding.id, "slow-grace-period");
  EXPECT_THAT(finding.what, HasSubstr("umount 9.2 ms, umount -l 16 ms"));
  EXPECT_THAT(finding.why, HasSubstr("somebody"));
  EXPECT_THAT(finding.helps, HasSubstr("echo 0 >/sys/kernel/rcu_normal"));
}

TEST(DoctorFindings, TheBootSetRcuNormal) {
  Facts facts = healthy();
  facts.system.rcu_normal = 1;
  facts.system.rcu_parameters = {"rcupdate.rcu_normal=1"};
  facts.cost = Cost{.plain = 9200, .lazy = 15900};
  EXPECT_THAT(only(facts).why, HasSubstr("boot parameters"));
}

TEST(DoctorFindings, PreemptRtWithTheIsolatedCpusItWouldDisturb) {
  Facts facts = healthy();
  facts.system.preempt_rt = true;
  facts.system.rcu_normal = 1;
  facts.system.isolated_cpus = "2-7";
  facts.cost = Cost{.plain = 72000, .lazy = 74000};
  const Finding finding = only(facts);
  EXPECT_THAT(finding.why, HasSubstr("PREEMPT_RT"));
  EXPECT_THAT(finding.costs, HasSubstr("isolated ones (2-7)"));
}

TEST(DoctorFindings, SlowAlthoughGracePeriodsAreExpedited) {
  Facts facts = healthy();
  facts.cost = Cost{.plain = 30000, .lazy = 31000};
  const Finding finding = only(facts);
  EXPECT_THAT(finding.why, HasSubstr("expedited"));
  EXPECT_THAT(finding.helps, Not(HasSubstr("rcu_normal")));
}

TEST(DoctorFindings, ABusyMachineWithFastUnmountsBetweenIsHealthy) {
  Facts facts = healthy();
  facts.cost = Cost{.plain = 11000, .lazy = 230, .fastest_plain = 210, .fastest_lazy = 200};
  EXPECT_THAT(diagnose(facts), IsEmpty());
  facts.cost = Cost{.plain = 3700, .lazy = 270, .fastest_plain = 3200, .fastest_lazy = 74};
  EXPECT_THAT(diagnose(facts), IsEmpty());
}

TEST(DoctorFindings, RcuNormalIsEnoughWhereNothingCanBeMeasured) {
  Facts facts = healthy();
  facts.cost.reset();
  facts.cost_refusal = "unshare: Operation not permitted";
  EXPECT_THAT(diagnose(facts), IsEmpty());
  facts.system.rcu_normal = 1;
  EXPECT_EQ(only(facts).id, "slow-grace-period");
}

TEST(DoctorFindings, SaysThatRcuExpeditedDoesNothing) {
  Facts facts = healthy();
  facts.system.preempt_rt = true;
  facts.system.rcu_normal = 1;
  facts.cost = Cost{.plain = 72000, .lazy = 74000};
  facts.system.rcu_expedited = 1;
  EXPECT_THAT(ids(facts), testing::ElementsAre("slow-grace-period", "expedited-in-vain"));
  facts.system.rcu_expedited = 0;
  facts.system.rcu_parameters = {"rcupdate.rcu_expedited=1"};
  EXPECT_THAT(ids(facts), testing::ElementsAre("slow-grace-period", "expedited-in-vain"));
  facts.system.rcu_parameters = {"rcupdate.rcu_expedited=0"};
  EXPECT_THAT(ids(facts), testing::ElementsAre("slow-grace-period"));
}

TEST(DoctorFindings, AHungFuseServer) {
  Facts facts = healthy();
  facts.stuck = {{.mount_point = "/mnt/f", .connection = 40, .waiting = 3}};
  const Finding finding = only(facts);
  EXPECT_EQ(finding.id, "hung-fuse");
  EXPECT_THAT(finding.what, HasSubstr("/mnt/f (connection 40)"));
  EXPECT_THAT(finding.helps, HasSubstr("connections/40/abort"));
}

TEST(DoctorFindings, DirtyDataBehindTheWorstOverlay) {
  Facts facts = healthy();
  facts.overlays = {{.mount_point = "/a", .upper = "/x/a", .dirty = 1ULL << 20},
                    {.mount_point = "/b", .upper = "/y/b", .dirty = 300ULL << 20}};
  const Finding finding = only(facts);
  EXPECT_EQ(finding.id, "dirty-behind-overlay");
  EXPECT_THAT(finding.what, HasSubstr("300 MiB of unwritten data lie behind the overlay /b"));
}

TEST(DoctorFindings, LittleDirtyDataBehindAnOverlayIsFine) {
  Facts facts = healthy();
  facts.overlays = {{.mount_point = "/a", .upper = "/x/a", .dirty = 1ULL << 20}};
  EXPECT_THAT(diagnose(facts), IsEmpty());
}

TEST(DoctorFindings, TheMachinesDirtyDataWhereTheFilesystemsAreNotTold) {
  Facts facts = healthy();
  facts.overlays = {{.mount_point = "/a", .upper = "/x/a", .dirty = std::nullopt}};
  EXPECT_THAT(only(facts).what, HasSubstr("perhaps behind the overlay /a"));
}

TEST(DoctorFindings, ManyMountsAndALargePeerGroup) {
  Facts facts = healthy();
  facts.mounts = 3040;
  facts.table_read = 6400;
  facts.largest_group = 1001;
  facts.largest_group_id = 7;
  EXPECT_THAT(ids(facts), testing::ElementsAre("many-mounts", "large-peer-group"));
  EXPECT_THAT(diagnose(facts)[0].what,
              HasSubstr("3040 mounts in this namespace; one read of the mount table takes 6.4 ms"));
}

TEST(DoctorReport, IsJsonAlsoWithNamesThatAreNotUtf8) {
  Facts facts = healthy();
  facts.stuck = {{.mount_point = "/mnt/\xff", .connection = 1, .waiting = 1}};
  const auto json = nlohmann::json::parse(json_report(facts, diagnose(facts)));
  EXPECT_FALSE(json["healthy"]);
  EXPECT_EQ(json["findings"][0]["id"], "hung-fuse");
  EXPECT_EQ(json["cost"]["umount_us"], 12);
}

// Every key of the object with the type of its value, as unmoor-doctor(1) lists them.
void list_keys(const nlohmann::json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      list_keys(inner, path.empty() ? key : path + "." + key, keys);
  } else if (value.is_array()) {
    for (const auto& inner : value)
      list_keys(inner, path + "[]", keys);
  } else {
    keys.insert(path + " " + value.type_name());
  }
}

TEST(DoctorReport, HasTheKeysThatTheManualLists) {
  Facts facts = healthy();
  facts.system.rcu_parameters = {"rcu_nocbs=2-7"};
  facts.root_copies = {{.mount_point = "/c", .loses = 2}};
  facts.stuck = {{.mount_point = "/f", .connection = 40, .waiting = 3}};
  facts.overlays = {{.mount_point = "/b", .upper = "/y/b", .dirty = 300ULL << 20}};
  std::set<std::string> keys;
  list_keys(nlohmann::json::parse(json_report(facts, diagnose(facts))), "", keys);
  EXPECT_THAT(keys, testing::UnorderedElementsAre(
                        "schema number", "healthy boolean", "kernel.release string", "kernel.version string",
                        "kernel.preempt_rt boolean", "kernel.rcu_parameters[] string", "kernel.isolated_cpus string",
                        "kernel.nohz_full_cpus string", "rcu.grace_periods string", "rcu.normal number",
                        "rcu.expedited number", "cost.umount_us number", "cost.umount_lazy_us number",
                        "cost.fastest_umount_us number", "cost.fastest_umount_lazy_us number", "mounts.count number",
                        "mounts.read_us number", "mounts.largest_peer_group number", "mounts.root_shared boolean",
                        "mounts.root_copies[].mount_point string", "mounts.root_copies[].loses number",
                        "fuse.mounts number", "fuse.unreadable number", "fuse.stuck[].mount_point string",
                        "fuse.stuck[].connection number", "fuse.stuck[].waiting number", "dirty.bytes number",
                        "dirty.overlays[].mount_point string", "dirty.overlays[].upper string",
                        "dirty.overlays[].bytes number", "findings[].id string", "findings[].what string",
                        "findings[].why string", "findings[].helps string", "findings[].costs string"));
}

TEST(DoctorReport, HasNullForWhatIsNotKnownAndTheReasonInPlaceOfTheCost) {
  Facts facts;
  facts.cost_refusal = "unshare: Operation not permitted";
  facts.overlays = {{.mount_point = "/b", .upper = "/y/b", .dirty = std::nullopt}};
  const auto json = nlohmann::json::parse(json_report(facts, {}));
  EXPECT_TRUE(json["rcu"]["normal"].is_null());
  EXPECT_TRUE(json["rcu"]["expedited"].is_null());
  EXPECT_EQ(json["rcu"]["grace_periods"], "unknown");
  EXPECT_TRUE(json["dirty"]["bytes"].is_null());
  EXPECT_TRUE(json["dirty"]["overlays"][0]["bytes"].is_null());
  EXPECT_EQ(json["cost"], nlohmann::json({{"refused", "unshare: Operation not permitted"}}));
  EXPECT_EQ(json["healthy"], true);
  EXPECT_EQ(json["findings"], nlohmann::json::array());
}

TEST(DoctorReport, SaysWhatCouldNotBeMeasured) {
  Facts facts = healthy();
  facts.cost.reset();
  facts.cost_refusal = "unshare: Operation not permitted";
  EXPECT_THAT(text_report(facts, {}, Colour::kNo), HasSubstr("not measured: unshare: Operation not permitted"));
}

TEST(DoctorReport, NamesWhatDecidesAndSetsFindingsInBoldOnlyWhenAsked) {
  Facts facts = healthy();
  facts.system.isolated_cpus = "2-7";
  facts.system.rcu_parameters = {"rcu_nocbs=2-7"};
  facts.mounts = 3000;
  const std::string plain = text_report(facts, diagnose(facts), Colour::kNo);
  EXPECT_THAT(plain, HasSubstr("kernel         6.12.0\n"));
  EXPECT_THAT(plain, HasSubstr("isolated CPUs  2-7\n"));
  EXPECT_THAT(plain, HasSubstr("boot           rcu_nocbs=2-7\n"));
  EXPECT_THAT(plain, HasSubstr("\nmany-mounts: 3000 mounts in this namespace"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  const std::string coloured = text_report(facts, diagnose(facts), Colour::kYes);
  EXPECT_THAT(coloured, HasSubstr("\n\x1b[1mmany-mounts: 3000 mounts in this namespace"));
  EXPECT_THAT(coloured, HasSubstr(".\x1b[0m\n  why    "));
}

}  // namespace
}  // namespace unmoor::cli::doctor
