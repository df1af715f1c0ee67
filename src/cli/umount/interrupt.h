// SPDX-License-Identifier: MIT
// SIGINT and SIGTERM during a long unmount: what is in flight is finished, nothing more is begun, and the report still
// says how far it came. A second one ends the program at once. As umount(8), signals do what they always do.
#pragma once

#include <atomic>

namespace unmoor::cli::umount {

// From here on the first signal is only noted.
void note_interrupts();
[[nodiscard]] bool interrupted();
[[nodiscard]] const std::atomic<bool>* interrupt_flag();

}  // namespace unmoor::cli::umount
