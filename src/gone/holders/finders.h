// SPDX-License-Identifier: MIT
// The finders: one file per kind of holder beside this one. Process finders look at one process or thread and add what
// they see; system finders look at what the kernel itself holds. None of them waits for a filesystem.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "gone/census.h"
#include "gone/sighting.h"
#include "kernel/procfs_fdinfo.h"

namespace unmoor::gone::holders {

// ---- process finders ----

// cwd, root and exe. The first two also of a thread that shares them with nobody.
void find_working_directory(const ProcessView& view, Sightings& out);
void find_root_directory(const ProcessView& view, Sightings& out);
void find_executable(const ProcessView& view, Sightings& out);

// Sockets by their inode, as the kernel listed them before the scan.
struct KnownSockets {
  std::unordered_set<std::uint64_t> bound{};    // to a file: of interest who has them
  std::unordered_set<std::uint64_t> drained{};  // nothing is in flight to them: need not be asked
};

// All descriptors of one table, handed to the finders below by what they refer to. False when it may not be read.
bool find_descriptors(const ProcessView& view, const KnownSockets& sockets, Sightings& out);
void find_in_flight(const ProcessView& view, int descriptor, const kernel::Place& socket, Sightings& out);
void find_ring_files(const ProcessView& view, int descriptor, Sightings& out);
void find_kept_namespace(const ProcessView& view, int descriptor, Sightings& out);

// Mapped files; may wait for the process (procfs_maps.h).
void find_mappings(const ProcessView& view, Sightings& out);

// Threads that have a working directory or descriptors of their own, and all threads when the leader has exited.
// `look` is called with a view of each such thread and what it does not share with the process.
enum class ThreadOwns { kFilesystem, kDescriptors };
void find_threads(const ProcessView& process, bool leader_exited,
                  const std::function<void(const ProcessView&, ThreadOwns)>& look);

// ---- system finders: what the kernel itself keeps open, by path and where it tells by device ----

struct KernelUser {
  HolderKind kind = HolderKind::kSwap;
  std::string path{};                            // of the file, as the kernel shows it
  std::optional<kernel::DeviceNumber> device{};  // st_dev of the file, where the kernel tells
  std::string detail{};
  std::string release{};  // command that makes it let go
};

[[nodiscard]] std::vector<KernelUser> find_swap(const kernel::SystemCalls& calls);
[[nodiscard]] std::vector<KernelUser> find_loops(const kernel::SystemCalls& calls);
[[nodiscard]] std::vector<KernelUser> find_binary_formats(const kernel::SystemCalls& calls);
[[nodiscard]] std::vector<KernelUser> find_uprobes(const kernel::SystemCalls& calls);
[[nodiscard]] std::vector<KernelUser> find_exports(const kernel::SystemCalls& calls);
// Device-mapper and md devices on top of a block device.
[[nodiscard]] std::vector<KernelUser> find_stacked_devices(const kernel::SystemCalls& calls,
                                                           kernel::DeviceNumber device);
// The layers of an overlay mount, from its options: "lowerdir", "upperdir", "workdir" and their paths.
struct OverlayLayer {
  std::string_view option{};
  std::string path{};
};
[[nodiscard]] std::vector<OverlayLayer> overlay_layers(std::string_view super_options);

}  // namespace unmoor::gone::holders
