// SPDX-License-Identifier: MIT
// What the shim and the broker say to each other. Both ends are of one build; the layout is no promise to anyone else.
//
// The broker listens on an abstract SOCK_SEQPACKET socket whose name, and one secret for each side, travel in the
// environment variable kTokenVariable. The client speaks first (Hello with the client secret), the broker answers once
// with its own secret, which every process that shares the connection peeks at and leaves in the queue: an abstract
// name is free for anyone to take once the broker has ended, and a request carries descriptors worth stealing.
//
// A request carries its own reply socket, so that processes which share one connection by fork never read each other's
// answers. The client keeps its end of the reply socket open (close-on-exec) when the answer says so: its closing is
// how the broker learns that the program has become another one, without any call of the program's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unmoor::exec {

inline constexpr std::size_t kSecretSize = 16;
inline constexpr std::size_t kHexSecretSize = 2 * kSecretSize;

// KEY=name.client_secret.broker_secret.flags.device.inode (hex); see Token.
inline constexpr const char kTokenVariable[] = "UNMOOR_EXEC=";
// Present when the program's environment had an LD_PRELOAD of its own, which ours then precedes.
inline constexpr const char kKeptVariable[] = "UNMOOR_EXEC_KEEP=1";
inline constexpr const char kPreloadVariable[] = "LD_PRELOAD=";

inline constexpr std::uint32_t kMagic = 0x756e6d72;

enum class MessageKind : std::uint32_t {
  kHello,     // no descriptors; `secret` is the client's. First message of a connection.
  kDetach,    // kDetachDescriptors of them
  kLeftAlone  // for the report only: a call the shim passed to the kernel as it was
};

inline constexpr std::size_t kTextSize = 192;

struct Message {
  std::uint32_t magic = kMagic;
  MessageKind kind = MessageKind::kHello;
  std::uint8_t secret[kSecretSize] = {};
  std::int64_t nanoseconds = 0;  // kLeftAlone: how long the call took
  std::int32_t result = 0;       // kLeftAlone: 0 or the errno
  std::int32_t flags = 0;        // umount2's
  char target[kTextSize] = {};   // as the program named it, cut to fit; only ever printed
  char why[kTextSize / 2] = {};  // kLeftAlone
};

// The descriptors of kDetach, in this order.
enum DetachDescriptor : std::size_t { kReplyFd, kTargetFd, kMountNamespaceFd, kRootFd, kDetachDescriptors };

enum class Outcome : std::uint32_t {
  kDetached = 1,  // the mount is in no namespace any more: the call has succeeded
  kPlain          // make the plain call
};

enum class Ticket : std::uint32_t { kNone, kKeep };

struct Reply {
  std::uint32_t magic = kMagic;
  Outcome outcome = Outcome::kPlain;
  Ticket ticket = Ticket::kNone;  // kKeep: leave your end open until you execute another program
};

// How long a program waits for an answer before it makes the plain call. Well above a busy machine's scheduling delays;
// only a stopped broker gets there.
inline constexpr int kReplyTimeoutMilliseconds = 1000;

}  // namespace unmoor::exec
