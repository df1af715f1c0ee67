// SPDX-License-Identifier: MIT
// libmount (util-linux), loaded only for what it knows and we do not: fstab and its user rules, utab, LABEL= and its
// like, /sbin/umount.TYPE helpers, loop devices. Nothing of it is touched for a mount that needs none of these.
//
// The declarations follow libmount's documented API; no header of it is needed to build.
#pragma once

#include <memory>
#include <string>

#include "cli/umount/options.h"
#include "kernel/error.h"
#include "kernel/system_calls.h"

namespace unmoor::cli::umount {

// What came of one target that libmount looked after.
struct LibmountResult {
  int exit_code = 0;
  std::string name;          // what to call the target by
  std::string source;        // empty: not known
  std::string complaint;     // empty: nothing to be said
  bool not_mounted = false;  // the complaint is the one that -q suppresses
  bool helper_ran = false;   // a /sbin/umount.TYPE did it, and has said what there was to say
};

class Libmount {
 public:
  // Loads libmount.so.1. Errors: ENOENT with the loader's words as the object.
  [[nodiscard]] static Result<Libmount> load();

  Libmount(Libmount&&) noexcept;
  Libmount& operator=(Libmount&&) noexcept;
  ~Libmount();

  // Sets what is the same for each target of the command line. Says on stderr what is wrong with a namespace and
  // returns its exit code, else 0.
  [[nodiscard]] int prepare(const Options& options);
  // Unmounts what `spec` names: a path, a device, LABEL=..., an entry of fstab. `source`: what is mounted there, where
  // that is known; for an absolute path libmount does not look, and remounts read-only (-r) only what it knows the
  // source of.
  [[nodiscard]] LibmountResult unmount(const kernel::SystemCalls& calls, const Options& options, const char* spec,
                                       const char* source = nullptr);

  // The device that LABEL=... and its like stand for; empty: none.
  [[nodiscard]] std::string device_of(const char* tag) const;
  // For an ordinary user umount(8) takes names apart before anything else, until the rules of fstab have been waived.
  [[nodiscard]] bool restricted() const;
  // libmount's matching of comma-separated lists with "no" prefixes (-t, -O).
  [[nodiscard]] bool type_matches(const std::string& type, const char* pattern) const;
  [[nodiscard]] bool options_match(const std::string& options, const char* pattern) const;

 private:
  struct Api;
  explicit Libmount(std::unique_ptr<Api> api);

  std::unique_ptr<Api> api_;
};

}  // namespace unmoor::cli::umount
