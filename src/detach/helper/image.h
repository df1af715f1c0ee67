// SPDX-License-Identifier: MIT
// The helper's program file, as this library carries it.
#pragma once

#include <cstddef>
#include <span>

namespace unmoor::detach {

[[nodiscard]] std::span<const std::byte> helper_image() noexcept;

}  // namespace unmoor::detach
