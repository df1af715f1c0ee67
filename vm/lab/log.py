# SPDX-License-Identifier: MIT
"""What in a kernel's log means that something went wrong."""

import re

# Only at the start of what the kernel says, so that a test's own words in a file name or comm cannot look like it.
_BAD = re.compile(
    r"^(?:<\d>)?\[ *\d+\.\d+\](?:\[[ CT]*\d+\])? "
    r"(?:(?P<bad>BUG: .*|WARNING: .*|Oops: .*|Kernel panic - .*|general protection fault.*|Unable to handle kernel .*|Internal error: .*"
    r"|(?:rcu: )?INFO: rcu.*(?:stall|detected).*|INFO: task .* blocked for more than .*|watchdog: BUG: .*|INFO: possible .*"
    r"|possible (?:recursive|circular) locking.*|inconsistent lock state.*|VFS: Busy inodes after unmount.*|EXT4-fs error.*"
    r"|.*refcount_t: .*|kernel BUG at .*|invalid opcode: .*|list_(?:add|del) corruption.*|Bad page state.*))",
    re.MULTILINE)


def complaints(log: str) -> list[str]:
    """The lines of a kernel log that a healthy kernel does not print, in order, each once."""
    return list(dict.fromkeys(match.group("bad").strip() for match in _BAD.finditer(log.replace("\r", ""))))
