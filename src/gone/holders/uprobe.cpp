// SPDX-License-Identifier: MIT
// Uprobes keep the probed file open, enabled or not. tracefs lists those made through it; a probe made by
// perf_event_open(2) or bpf(2) is listed nowhere.
#include "gone/holders/finders.h"
#include "gone/shell_word.h"
#include "kernel/procfs_text.h"
#include "kernel/pseudo_filesystem.h"

namespace unmoor::gone::holders {

std::vector<KernelUser> find_uprobes(const kernel::SystemCalls& calls) {
  constexpr const char* kUsualPlace = "/sys/kernel/tracing";
  std::vector<KernelUser> users;
  const Result<kernel::UniqueFd> root = kernel::open_pseudo_filesystem(calls, "tracefs", kUsualPlace, "uprobe_events");
  if (!root) return users;
  const Result<std::string> text = kernel::read_text(calls, root->get(), "uprobe_events");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    // "p:group/name path:0xoffset arguments"
    std::string_view line = kernel::take_until(rest, '\n');
    std::string_view event = kernel::take_until(line, ' ');
    (void)kernel::take_until(event, ':');
    const std::size_t offset = line.find(":0x");
    if (event.empty() || offset == std::string_view::npos) continue;
    std::string release = "echo " + shell_word("-:" + std::string(event)) + " >> " + kUsualPlace + "/uprobe_events";
    users.push_back(
        {HolderKind::kUprobe, std::string(line.substr(0, offset)), {}, std::string(event), std::move(release)});
  }
  return users;
}

}  // namespace unmoor::gone::holders
