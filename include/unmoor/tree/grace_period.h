// SPDX-License-Identifier: MIT
// Grace periods of a mount namespace: which kind is used, and how many there were.
//
// The four modes have Linux's names, and its precedence (kernel/rcu/update.c, Documentation/admin-guide/
// kernel-parameters.txt): `normal` beats `expedited`; `normal_after_boot` becomes `normal` when boot ends, and until
// then everything is expedited; `realtime` is what CONFIG_PREEMPT_RT does, that is normal_after_boot, whatever else
// was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <unmoor/tree/export.h>

namespace unmoor::rcu {

struct Modes {
  bool normal = false;             // rcu_normal: no grace period interrupts a CPU that reads
  bool expedited = false;          // rcu_expedited: every grace period hurries
  bool normal_after_boot = false;  // rcu_normal_after_boot
  bool realtime = false;           // CONFIG_PREEMPT_RT

  friend bool operator==(const Modes&, const Modes&) = default;
};

// What a caller asks for, and what a grace period then is. Linux's umount asks for expedited ones.
enum class Kind : std::uint8_t { normal, expedited };

// A domain boots until rcu_domain::end_boot(); unless asked otherwise it is made with boot already over.
enum class Boot : std::uint8_t { running, ended };

// What Linux makes of a request for `asked` under `modes`.
[[nodiscard]] UNMOOR_TREE_API Kind kind_in_effect(Kind asked, const Modes& modes, Boot boot) noexcept;

// The line that Linux prints about `modes` when it boots; empty where it prints none.
[[nodiscard]] UNMOOR_TREE_API std::string_view boot_line(const Modes& modes) noexcept;

// "normal", "expedited", "normal_after_boot", "realtime", or several of them with commas between; "" is none.
// Nothing when a word is unknown.
[[nodiscard]] UNMOOR_TREE_API std::optional<Modes> parse_modes(std::string_view text) noexcept;

struct Statistics {
  std::uint64_t normal = 0;  // grace periods that were run, by kind
  std::uint64_t expedited = 0;
  std::uint64_t waits = 0;    // calls that had to wait for one; several share one
  std::uint64_t retired = 0;  // callbacks handed in, and run
  std::uint64_t reclaimed = 0;
  std::uint64_t readers = 0;  // threads registered now
};

}  // namespace unmoor::rcu
