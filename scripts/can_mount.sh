#!/bin/sh
# SPDX-License-Identifier: MIT
# Whether this machine lets us mount in a private mount namespace, as root or in a user namespace. Prints what forbids it,
# and exits with 1, when not.
try='mount -t tmpfs none /tmp'
unshare -m sh -c "$try" 2>/dev/null && exit 0
answer=$(LC_ALL=C unshare -r -m sh -c "$try" 2>&1) && exit 0
echo "$answer" | tail -n 1
exit 1
