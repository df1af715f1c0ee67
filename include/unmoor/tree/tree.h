// SPDX-License-Identifier: MIT
// All of libunmoor-tree. unmoor_tree(3) is the manual.
#pragma once

#include <unmoor/tree/universe.h>
