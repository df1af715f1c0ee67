// SPDX-License-Identifier: MIT
#include "detach/helper/image.h"

// UNMOOR_HELPER_FILE is the program that the build made just before.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "unmoor_helper_image_begin:\n"
    ".incbin \"" UNMOOR_HELPER_FILE
    "\"\n"
    "unmoor_helper_image_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const std::byte image_begin[] __asm__("unmoor_helper_image_begin") __attribute__((visibility("hidden")));
extern const std::byte image_end[] __asm__("unmoor_helper_image_end") __attribute__((visibility("hidden")));
}

namespace unmoor::detach {

std::span<const std::byte> helper_image() noexcept {
  return {image_begin, image_end};
}

}  // namespace unmoor::detach
