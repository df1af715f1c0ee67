// SPDX-License-Identifier: MIT
#include "kernel/procfs_identity.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kernel/procfs_text.h"

namespace unmoor::kernel {
namespace {

struct Engine {
  std::string_view prefix;  // of the last path component, before the id
  std::string_view name;
};

// How engines name their scopes: docker-<id>.scope, libpod-<id>.scope, crio-<id>.scope, cri-containerd-<id>.scope.
constexpr std::array<Engine, 5> kScopes = {{{"docker-", "docker"},
                                            {"libpod-", "podman"},
                                            {"crio-", "crio"},
                                            {"cri-containerd-", "containerd"},
                                            {"nspawn-", "nspawn"}}};

bool is_container_id(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// cgroupfs drivers: /docker/<id>, /libpod_parent/libpod-<id>, /kubepods/burstable/pod.../<id>, /lxc.payload.<name>.
std::string container_of(std::string_view path) {
  std::string_view above;
  while (!path.empty()) {
    std::string_view part = take_until(path, '/');
    const std::string_view whole = part;
    if (part.ends_with(".scope")) part.remove_suffix(6);
    for (const Engine& engine : kScopes) {
      if (part.starts_with(engine.prefix) && is_container_id(part.substr(engine.prefix.size())))
        return std::string(engine.name) + " " + std::string(part.substr(engine.prefix.size(), 12));
    }
    if (part.starts_with("lxc.payload.")) return "lxc " + std::string(part.substr(12));
    if (part.starts_with("machine-") && whole.ends_with(".scope")) return "machine " + std::string(part.substr(8));
    if (is_container_id(part)) {
      const bool pod = above.starts_with("pod") || above.find("-pod") != std::string_view::npos;
      return std::string(pod             ? "kubernetes"
                         : above.empty() ? "container"
                                         : above) +
             " " + std::string(part.substr(0, 12));
    }
    above = whole;
  }
  return {};
}

std::string unit_of(std::string_view path) {
  std::string_view unit;
  while (!path.empty()) {
    const std::string_view part = take_until(path, '/');
    if (part.ends_with(".service") || part.ends_with(".scope")) unit = part;
  }
  return std::string(unit);
}

}  // namespace

ControlGroup parse_cgroup(std::string_view text) {
  ControlGroup group;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    (void)take_until(line, ':');                                 // hierarchy
    const std::string_view controllers = take_until(line, ':');  // empty: cgroup v2
    if (group.container.empty()) group.container = container_of(line);
    if (group.unit.empty() && (controllers.empty() || controllers == "name=systemd")) group.unit = unit_of(line);
  }
  return group;
}

ProcessIdentity identity_of(const SystemCalls& calls, int directory) {
  ProcessIdentity who;
  Result<std::string> status = read_text(calls, directory, "status");
  std::string_view rest = status ? std::string_view(*status) : std::string_view();
  bool has_memory = false;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view name = take_until(line, ':');
    const std::string_view value = take_word(line);
    if (name == "State" && !value.empty()) who.state = value.front();
    if (name == "VmSize") has_memory = true;
    if (name == "Uid") {
      const std::string_view effective = take_word(line);  // real was first
      (void)std::from_chars(effective.data(), effective.data() + effective.size(), who.uid);
    }
  }
  who.kernel_thread = status && !has_memory && who.state != 'Z' && who.state != 'X';
  if (Result<std::string> comm = read_text(calls, directory, "comm")) {
    if (comm->ends_with('\n')) comm->pop_back();  // the name itself may hold newlines
    who.command = std::move(*comm);
  }
  if (Result<std::string> cgroup = read_text(calls, directory, "cgroup")) {
    ControlGroup group = parse_cgroup(*cgroup);
    who.unit = std::move(group.unit);
    who.container = std::move(group.container);
  }
  return who;
}

std::string user_name(const SystemCalls& calls, uid_t uid) {
  std::string number = std::to_string(uid);
  Result<std::string> text = read_text(calls, AT_FDCWD, "/etc/passwd");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view name = take_until(line, ':');
    (void)take_until(line, ':');
    if (take_until(line, ':') == number) return std::string(name);
  }
  return number;
}

}  // namespace unmoor::kernel
