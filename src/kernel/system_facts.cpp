// SPDX-License-Identifier: MIT
#include "kernel/system_facts.h"

#include <charconv>
#include <string_view>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {
namespace {

bool about_rcu(std::string_view parameter) {
  return parameter.starts_with("rcu") || parameter.starts_with("nohz_full") || parameter.starts_with("isolcpus");
}

std::string cpu_list(const SystemCalls& calls, int root, const char* path) {
  std::string list = read_line(calls, root, path);
  return list.contains("(null)") ? std::string() : list;  // what some kernels print for an empty nohz_full, with spaces
}

std::optional<int> knob(const SystemCalls& calls, int root, const char* path) {
  const std::string text = read_line(calls, root, path);
  int value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

SystemFacts read_system_facts(const SystemCalls& calls, int root) {
  SystemFacts facts;
  facts.release = read_line(calls, root, "proc/sys/kernel/osrelease");
  facts.version = read_line(calls, root, "proc/sys/kernel/version");
  facts.preempt_rt = facts.version.contains("PREEMPT_RT") || read_line(calls, root, "sys/kernel/realtime") == "1";
  facts.rcu_normal = knob(calls, root, "sys/kernel/rcu_normal");
  facts.rcu_expedited = knob(calls, root, "sys/kernel/rcu_expedited");
  const std::string parameters = read_line(calls, root, "proc/cmdline");
  std::string_view rest = parameters;
  while (!rest.empty()) {
    const std::string_view parameter = take_word(rest);
    if (about_rcu(parameter)) facts.rcu_parameters.emplace_back(parameter);
  }
  facts.isolated_cpus = cpu_list(calls, root, "sys/devices/system/cpu/isolated");
  facts.nohz_full_cpus = cpu_list(calls, root, "sys/devices/system/cpu/nohz_full");
  return facts;
}

}  // namespace unmoor::kernel
