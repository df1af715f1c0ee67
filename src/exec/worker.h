// SPDX-License-Identifier: MIT
// The process that makes one unmount for one client. The broker forks it when a connection has a request to be read:
// what a client sends is opened, examined and closed only here, so that a hostile descriptor can hang nobody else, and
// the wait for the grace period is this process's.
#pragma once

#include <cstdint>

#include "detach/policy.h"
#include "exec/client_rights.h"
#include "exec/outside.h"
#include "exec/protocol.h"
#include "kernel/system_calls.h"

namespace unmoor::exec {

// What the worker tells the broker, in this order: kTaken, then kRefused or kStarted, then (after kStarted) kFinished.
// More filesystems than this that are only harmless because they are mounted elsewhere: make the plain call.
inline constexpr std::size_t kMostStaying = 32;

struct WorkerMessage {
  enum class Kind : std::uint32_t {
    kTaken,    // the request is off the connection, which the broker may read again
    kRefused,  // the client has been told to make the plain call
    kStarted,  // descriptors: the client's reply socket, the table that the mount will vanish from, the namespace
    kFinished  // the unmount has returned
  } kind = Kind::kTaken;
  detach::DeferReason reason = detach::DeferReason::kDeferred;
  std::int32_t error = 0;     // kRefused: EPERM when the client had no right to it; kFinished: 0 or the errno
  std::int32_t mount = 0;     // kStarted: its id
  std::int32_t client = 0;    // kStarted: pid
  bool may_keep = false;      // kStarted
  std::uint32_t staying = 0;  // kStarted: how many of `must_stay`
  kernel::DeviceNumber must_stay[kMostStaying] = {};
  std::int64_t nanoseconds = 0;  // kFinished: how long the program would have waited
  char target[kTextSize] = {};   // kTaken
  char why[kTextSize / 2] = {};  // kRefused, with error: what was wrong with the request
};

enum StartedDescriptor : std::size_t { kStartedReply, kStartedTable, kStartedNamespace, kStartedDescriptors };

struct WorkerSetting {
  const kernel::SystemCalls& calls;
  const Identity& self;
  const Outside& outside;
  detach::Defer defer;
};

// In the forked child; returns when the process may end.
void serve(const WorkerSetting& setting, int connection, int broker);

}  // namespace unmoor::exec
