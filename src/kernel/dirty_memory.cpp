// SPDX-License-Identifier: MIT
#include "kernel/dirty_memory.h"

#include <string>

#include "kernel/memory_fields.h"

namespace unmoor::kernel {

std::optional<std::uint64_t> dirty_bytes(const SystemCalls& calls, const char* meminfo) {
  return sum_of_fields(calls, meminfo, {"Dirty", "Writeback"});
}

std::optional<std::uint64_t> dirty_bytes_of(const SystemCalls& calls, const char* debugfs, DeviceNumber device) {
  const std::string path =
      std::string(debugfs) + "/bdi/" + std::to_string(device.major) + ":" + std::to_string(device.minor) + "/stats";
  return sum_of_fields(calls, path.c_str(), {"BdiReclaimable", "BdiWriteback"});
}

}  // namespace unmoor::kernel
