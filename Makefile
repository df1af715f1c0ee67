# SPDX-License-Identifier: MIT
# For people: each goal is one command. The build itself is CMake's (CMakePresets.json); `make help` lists the goals.
MAKEFLAGS += --no-print-directory
CPUS ?= 2
KERNELS ?= 6.1-rt 6.12-rt 6.1
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
N ?= 100000
SEED ?= 1

.DEFAULT_GOAL := all
.PHONY: help all check check-long demo fuzz model vm-check vm-bench lint format arm64 install clean

help:         ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

all:          ## build the program and the libraries: build/release/unmoor
	@scripts/build.sh release

check:        ## build and run every test, here and on PREEMPT_RT kernels in QEMU (at most 25 minutes)
	@scripts/check.sh

check-long:   ## the same with every count in full
	@UNMOOR_LONG=1 scripts/check.sh

fuzz:         ## compare N random mount operations in the tree and on this kernel, from SEED on (docs/propagation.md)
	@scripts/build.sh release test && build/release/tests/differential/unmoor-fuzz -n $(N) -s $(SEED) -j $$((2 * $(JOBS)))

model:        ## let Spin visit every interleaving of the models of the unlock path (docs/model.md)
	@model/check.sh

demo:         ## the two tables of the kernel mails, measured on a PREEMPT_RT kernel in QEMU and on this machine
	@scripts/demo.sh

vm-check:     ## the kernel tests on the kernels in KERNELS, in QEMU
	@scripts/build.sh release test vm && vm/check --cpus $(CPUS) $(KERNELS)

vm-bench:     ## the mails' tables and ours on the kernels in KERNELS, with CPUS processors
	@scripts/build.sh release vm && vm/bench --cpus $(CPUS) $(KERNELS)

lint:         ## clang-format and clang-tidy over the repository
	@scripts/lint.sh

format:       ## lay out every C and C++ file
	@git ls-files '*.c' '*.cpp' '*.h' | xargs clang-format-19 -i

arm64:        ## compile the program and the libraries for arm64: build/arm64/unmoor
	@scripts/build.sh arm64 cross

install:      ## install below PREFIX (and DESTDIR)
	@scripts/build.sh release && cmake --install build/release --prefix "$(PREFIX)"

clean:        ## remove everything built; downloaded kernels stay in the cache (see vm/README.md)
	@rm -rf build
