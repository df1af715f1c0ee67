// SPDX-License-Identifier: MIT
// Files of lines like "Name:   123 kB": proc_meminfo(5), the statistics of a backing device.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "kernel/system_calls.h"

namespace unmoor::kernel {

// The sum of these fields, in bytes. Empty unless all are there.
[[nodiscard]] std::optional<std::uint64_t> sum_of_fields(const SystemCalls& calls, const char* path,
                                                         std::initializer_list<std::string_view> names);

}  // namespace unmoor::kernel
