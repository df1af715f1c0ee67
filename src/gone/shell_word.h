// SPDX-License-Identifier: MIT
// Paths in commands that a person may paste into a shell.
#pragma once

#include <string>
#include <string_view>

namespace unmoor::gone {

// As it is when no shell would change it, else quoted: 'a b', $'a\nb'.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace unmoor::gone
