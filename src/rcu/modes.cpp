// SPDX-License-Identifier: MIT
#include "unmoor/tree/grace_period.h"

namespace unmoor::rcu {

Kind kind_in_effect(Kind asked, const Modes& modes, Boot boot) noexcept {
  const bool booting = boot == Boot::running;
  const bool after_boot = modes.normal_after_boot || modes.realtime;
  if (modes.normal || (after_boot && !booting)) return Kind::normal;
  if (modes.expedited || booting) return Kind::expedited;
  return asked;
}

std::string_view boot_line(const Modes& modes) noexcept {
  if (modes.normal) return "No expedited grace period (rcu_normal).";
  if (modes.normal_after_boot || modes.realtime) return "No expedited grace period (rcu_normal_after_boot).";
  if (modes.expedited) return "All grace periods are expedited (rcu_expedited).";
  return {};
}

std::optional<Modes> parse_modes(std::string_view text) noexcept {
  Modes modes;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    if (word == "normal") {
      modes.normal = true;
    } else if (word == "expedited") {
      modes.expedited = true;
    } else if (word == "normal_after_boot") {
      modes.normal_after_boot = true;
    } else if (word == "realtime") {
      modes.realtime = true;
    } else {
      return std::nullopt;
    }
    text.remove_prefix(word.size());
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return modes;
}

}  // namespace unmoor::rcu
