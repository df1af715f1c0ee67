# SPDX-License-Identifier: MIT
"""Runs commands on a Debian kernel in QEMU, without privileges and without installing the kernel."""
