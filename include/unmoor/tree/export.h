// SPDX-License-Identifier: MIT
// What the shared library shows; everything else is hidden.
#pragma once

#define UNMOOR_TREE_API __attribute__((visibility("default")))
