// SPDX-License-Identifier: MIT
// One side of the comparison: something that tree scripts run on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cli/tree/listing.h"
#include "cli/tree/operation.h"
#include "kernel/error.h"

namespace unmoor::differential {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // The errno of one operation; an Error only when the machinery broke.
  [[nodiscard]] virtual Result<int> run(const cli::tree::Operation& operation) = 0;
  [[nodiscard]] virtual Result<cli::tree::Listing> list(const std::string& ns) = 0;
};

// A fresh side, in its first state.
using Start = std::function<Result<std::unique_ptr<Runner>>()>;

// For KernelRunner, TreeRunner and whatever else has their shape.
template <typename Side>
[[nodiscard]] Start start_of() {
  class Adapter : public Runner {
   public:
    explicit Adapter(Side side) : side_(std::move(side)) {}
    Result<int> run(const cli::tree::Operation& operation) override { return side_.run(operation); }
    Result<cli::tree::Listing> list(const std::string& ns) override { return side_.list(ns); }

   private:
    Side side_;
  };
  return []() -> Result<std::unique_ptr<Runner>> {
    auto side = Side::start();
    if (!side) return std::unexpected(side.error());
    return std::make_unique<Adapter>(std::move(*side));
  };
}

}  // namespace unmoor::differential
