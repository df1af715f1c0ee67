// SPDX-License-Identifier: MIT
#include "gone/holder.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace unmoor::gone {
namespace {

struct KindNames {
  HolderKind kind;
  std::string_view name;
  std::string_view words;
  // Order of letting go: what lies on top of others first (processes and kernel users sit on the innermost mounts, so
  // a nested mount's own holders would come with a question about that mount).
  int order;
};

constexpr std::array<KindNames, 24> kKinds = {{
    {HolderKind::kNestedMount, "nested-mount", "mount on top", 0},
    {HolderKind::kSwap, "swap", "swap area", 1},
    {HolderKind::kLoop, "loop", "loop device", 1},
    {HolderKind::kOverlay, "overlay", "overlay layer", 1},
    {HolderKind::kExport, "nfs-export", "NFS export", 1},
    {HolderKind::kBinaryFormat, "binary-format", "binfmt_misc entry", 1},
    {HolderKind::kUprobe, "uprobe", "uprobe", 1},
    {HolderKind::kDescriptor, "descriptor", "open file", 2},
    {HolderKind::kPathDescriptor, "path-descriptor", "O_PATH descriptor", 2},
    {HolderKind::kWorkingDirectory, "working-directory", "working directory", 2},
    {HolderKind::kRootDirectory, "root-directory", "root directory", 2},
    {HolderKind::kExecutable, "executable", "running program", 2},
    {HolderKind::kMapping, "mapping", "mapped file", 2},
    {HolderKind::kRingFile, "io_uring-file", "io_uring file", 2},
    {HolderKind::kBoundSocket, "bound-socket", "bound socket", 2},
    {HolderKind::kInFlight, "in-flight", "descriptor in flight", 3},
    {HolderKind::kDetachedTree, "detached-tree", "detached mount tree", 4},
    {HolderKind::kMount, "mount", "mounted here", 5},
    {HolderKind::kNamespace, "namespace", "other namespace", 5},
    {HolderKind::kNamespaceByHandle, "namespace-by-descriptor", "namespace kept by descriptor", 5},
    {HolderKind::kNamespaceByMount, "namespace-by-mount", "namespace kept by mount", 5},
    {HolderKind::kNamespaceUnexplained, "namespace-unexplained", "namespace without a keeper", 6},
    {HolderKind::kStackedDevice, "stacked-device", "device on top", 7},
    {HolderKind::kDeviceDescriptor, "device-descriptor", "open device", 8},
}};

const KindNames& names(HolderKind kind) {
  return *std::ranges::find(kKinds, kind, &KindNames::kind);
}

}  // namespace

std::string_view name_of(HolderKind kind) {
  return names(kind).name;
}

std::string_view words_for(HolderKind kind) {
  return names(kind).words;
}

std::string_view name_of(Prevents prevents) {
  switch (prevents) {
    case Prevents::kUnmount:
      return "unmount";
    case Prevents::kShutdown:
      return "shutdown";
    case Prevents::kDevice:
      return "device";
  }
  return "";
}

std::string proc_directory(pid_t pid, pid_t tid) {
  return std::to_string(pid) + (tid == 0 ? "" : "/task/" + std::to_string(tid));
}

std::string proc_link(HolderKind kind, pid_t pid, pid_t tid, int descriptor) {
  switch (kind) {
    case HolderKind::kDescriptor:
    case HolderKind::kPathDescriptor:
    case HolderKind::kDetachedTree:
    case HolderKind::kDeviceDescriptor:
      return proc_directory(pid, tid) + "/fd/" + std::to_string(descriptor);
    case HolderKind::kWorkingDirectory:
      return proc_directory(pid, tid) + "/cwd";
    case HolderKind::kRootDirectory:
      return proc_directory(pid, tid) + "/root";
    case HolderKind::kExecutable:
      return proc_directory(pid, tid) + "/exe";
    default:
      return {};
  }
}

std::string path_to(const Holder& holder) {
  if (holder.pid <= 0) return {};
  const std::string link =
      holder.kind == HolderKind::kNamespace
          ? proc_directory(holder.pid, holder.tid) + "/root" + (holder.path == "/" ? "" : holder.path)
          : proc_link(holder.kind, holder.pid, holder.tid, holder.descriptor);
  return link.empty() ? link : "/proc/" + link;
}

void sort_inner_first(std::vector<Holder>& holders) {
  const auto depth = [](const Holder& holder) {
    const bool is_mount = holder.kind == HolderKind::kNestedMount || holder.kind == HolderKind::kMount;
    return is_mount ? -std::ranges::count(holder.path, '/') : 0;
  };
  std::ranges::sort(holders, [&](const Holder& a, const Holder& b) {
    return std::tuple(a.prevents, a.certainty, names(a.kind).order, depth(a), a.pid, a.tid, a.descriptor, a.path) <
           std::tuple(b.prevents, b.certainty, names(b.kind).order, depth(b), b.pid, b.tid, b.descriptor, b.path);
  });
}

}  // namespace unmoor::gone
