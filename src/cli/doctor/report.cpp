// SPDX-License-Identifier: MIT
#include "cli/doctor/report.h"

#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace unmoor::cli::doctor {
namespace {

using Json = nlohmann::ordered_json;

std::string knob_text(const std::optional<int>& knob) {
  return knob ? std::to_string(*knob) : "not readable";
}

std::string grace_period_mode(const Facts& facts) {
  if (!facts.system.rcu_normal) return "unknown";
  if (*facts.system.rcu_normal != 0) return "normal";
  return "expedited";
}

// null: not known
template <typename Number>
Json number_json(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

Json mounts_json(const Facts& facts) {
  Json copies = Json::array();
  for (const RootCopy& copy : facts.root_copies)
    copies.push_back({{"mount_point", copy.mount_point}, {"loses", copy.loses}});
  return {{"count", facts.mounts},
          {"read_us", facts.table_read},
          {"largest_peer_group", facts.largest_group},
          {"root_shared", facts.root_shared},
          {"root_copies", std::move(copies)}};
}

Json fuse_json(const Facts& facts) {
  Json stuck = Json::array();
  for (const StuckFuse& fuse : facts.stuck) {
    stuck.push_back({{"mount_point", fuse.mount_point}, {"connection", fuse.connection}, {"waiting", fuse.waiting}});
  }
  return {{"mounts", facts.fuse_mounts}, {"unreadable", facts.fuse_unreadable}, {"stuck", std::move(stuck)}};
}

Json dirty_json(const Facts& facts) {
  Json overlays = Json::array();
  for (const SyncingOverlay& overlay : facts.overlays) {
    overlays.push_back(
        {{"mount_point", overlay.mount_point}, {"upper", overlay.upper}, {"bytes", number_json(overlay.dirty)}});
  }
  return {{"bytes", number_json(facts.dirty)}, {"overlays", std::move(overlays)}};
}

}  // namespace

std::string text_report(const Facts& facts, const std::vector<Finding>& findings, Colour colour) {
  const char* const begin = colour == Colour::kYes ? "\x1b[1m" : "";  // bold
  const char* const end = colour == Colour::kYes ? "\x1b[0m" : "";
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "kernel         {}{}\n", facts.system.release, facts.system.preempt_rt ? " (PREEMPT_RT)" : "");
  fmt::format_to(out, "grace periods  of an unmount are {} (rcu_normal {}, rcu_expedited {})\n",
                 grace_period_mode(facts), knob_text(facts.system.rcu_normal), knob_text(facts.system.rcu_expedited));
  for (const std::string& parameter : facts.system.rcu_parameters)
    fmt::format_to(out, "boot           {}\n", parameter);
  if (!facts.system.isolated_cpus.empty()) fmt::format_to(out, "isolated CPUs  {}\n", facts.system.isolated_cpus);
  if (facts.cost) {
    fmt::format_to(out, "cost           umount {}, umount -l {} (empty tmpfs, median)\n",
                   duration_text(facts.cost->plain), duration_text(facts.cost->lazy));
  } else {
    fmt::format_to(out, "cost           not measured: {}\n", facts.cost_refusal);
  }
  fmt::format_to(out, "mounts         {}, read in {}; / is {}\n", facts.mounts, duration_text(facts.table_read),
                 facts.root_shared ? "shared" : "not shared");
  if (facts.fuse_unreadable > 0)
    fmt::format_to(out, "FUSE           {} of {} connections not looked at: no right to\n", facts.fuse_unreadable,
                   facts.fuse_mounts);
  if (findings.empty()) text += "\nNothing is wrong with unmounting here.\n";
  for (const Finding& finding : findings) {
    fmt::format_to(out, "\n{}{}: {}{}\n  why    {}\n  helps  {}\n  costs  {}\n", begin, finding.id, finding.what, end,
                   finding.why, finding.helps, finding.costs);
  }
  return text;
}

std::string json_report(const Facts& facts, const std::vector<Finding>& findings) {
  Json json;
  json["schema"] = 1;
  json["healthy"] = findings.empty();
  json["kernel"] = {{"release", facts.system.release},
                    {"version", facts.system.version},
                    {"preempt_rt", facts.system.preempt_rt},
                    {"rcu_parameters", facts.system.rcu_parameters},
                    {"isolated_cpus", facts.system.isolated_cpus},
                    {"nohz_full_cpus", facts.system.nohz_full_cpus}};
  json["rcu"] = {{"grace_periods", grace_period_mode(facts)},
                 {"normal", number_json(facts.system.rcu_normal)},
                 {"expedited", number_json(facts.system.rcu_expedited)}};
  if (facts.cost) {
    json["cost"] = {{"umount_us", facts.cost->plain},
                    {"umount_lazy_us", facts.cost->lazy},
                    {"fastest_umount_us", facts.cost->fastest_plain},
                    {"fastest_umount_lazy_us", facts.cost->fastest_lazy}};
  } else {
    json["cost"] = {{"refused", facts.cost_refusal}};
  }
  json["mounts"] = mounts_json(facts);
  json["fuse"] = fuse_json(facts);
  json["dirty"] = dirty_json(facts);
  json["findings"] = Json::array();
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"what", finding.what},
                                {"why", finding.why},
                                {"helps", finding.helps},
                                {"costs", finding.costs}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace unmoor::cli::doctor
