// SPDX-License-Identifier: MIT
#include "differential/compare.h"

#include "cli/tree/errno_name.h"
#include "cli/tree/script.h"

namespace unmoor::differential {
namespace {

using cli::tree::canonical_text;
using cli::tree::errno_name;
using cli::tree::Listing;
using cli::tree::Operation;
using cli::tree::Verb;

struct Shown {
  std::string text;
  bool grown = false;
};

Result<Shown> show(Runner& side, const std::vector<std::string>& namespaces) {
  Shown shown;
  std::vector<Listing> listings;
  for (const std::string& ns : namespaces) {
    Result<Listing> listing = side.list(ns);
    if (!listing) return std::unexpected(listing.error());
    shown.grown = shown.grown || listing->size() > kMostMounts;
    listings.push_back(std::move(*listing));
  }
  shown.text = canonical_text(listings);
  return shown;
}

}  // namespace

std::string script_text(std::span<const Operation> script) {
  std::string text;
  for (const Operation& operation : script)
    text += cli::tree::script_line(operation) + "\n";
  return text;
}

Result<Comparison> compare(const Start& left, const Start& right, std::span<const Operation> script, ListEvery every) {
  const Result<std::unique_ptr<Runner>> a = left();
  if (!a) return std::unexpected(a.error());
  const Result<std::unique_ptr<Runner>> b = right();
  if (!b) return std::unexpected(b.error());
  std::vector<std::string> namespaces{cli::tree::kFirstNamespace};
  Comparison comparison;
  for (std::size_t step = 0; step < script.size(); ++step) {
    const Operation& operation = script[step];
    const Result<int> code_a = (*a)->run(operation);
    if (!code_a) return std::unexpected(code_a.error());
    const Result<int> code_b = (*b)->run(operation);
    if (!code_b) return std::unexpected(code_b.error());
    ++comparison.compared;
    if (*code_a != *code_b) {
      comparison.divergence =
          Divergence{step, DivergenceKind::kErrno, errno_name(*code_a) + " here, " + errno_name(*code_b) + " there"};
      return comparison;
    }
    if (*code_a == 0 && operation.verb == Verb::kCopyNamespace) namespaces.push_back(operation.name);
    if ((step + 1) % static_cast<std::size_t>(every) != 0 && step + 1 != script.size()) continue;
    const Result<Shown> shown_a = show(**a, namespaces);
    if (!shown_a) return std::unexpected(shown_a.error());
    const Result<Shown> shown_b = show(**b, namespaces);
    if (!shown_b) return std::unexpected(shown_b.error());
    if (shown_a->text != shown_b->text) {
      comparison.divergence =
          Divergence{step, DivergenceKind::kMounts, "here:\n" + shown_a->text + "there:\n" + shown_b->text};
      return comparison;
    }
    if (shown_a->grown) break;
  }
  return comparison;
}

}  // namespace unmoor::differential
