// SPDX-License-Identifier: MIT
#include "cli/tree/listing.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace unmoor::cli::tree {
namespace {

class GroupNumbers {
 public:
  std::uint64_t number(std::uint64_t group) { return numbers_.try_emplace(group, numbers_.size() + 1).first->second; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
};

void append_escaped(std::string& text, const std::string& path) {
  constexpr std::string_view kOctal = "01234567";
  for (const char c : path) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
      const auto byte = static_cast<unsigned char>(c);
      text += {'\\', kOctal[byte >> 6U], kOctal[(byte >> 3U) & 7U], kOctal[byte & 7U]};
    } else {
      text += c;
    }
  }
}

void append_line(std::string& text, const Listed& mount, GroupNumbers& groups) {
  append_escaped(text, mount.mount_point);
  text += ' ';
  append_escaped(text, mount.root);
  text += ' ' + mount.filesystem + ' ' + mount.options;
  if (mount.shared != 0) text += " shared:" + std::to_string(groups.number(mount.shared));
  if (mount.master != 0) text += " master:" + std::to_string(groups.number(mount.master));
  if (mount.unbindable) text += " unbindable";
  text += '\n';
}

void append_tree(std::string& text, const Listing& listing, GroupNumbers& groups) {
  std::unordered_set<std::uint64_t> ids;
  for (const Listed& mount : listing)
    ids.insert(mount.id);
  std::unordered_map<std::uint64_t, std::vector<const Listed*>> children;
  std::vector<const Listed*> roots;
  for (const Listed& mount : listing) {
    const bool root = mount.parent == mount.id || !ids.contains(mount.parent);
    (root ? roots : children[mount.parent]).push_back(&mount);
  }
  const auto last_first = [](std::vector<const Listed*>& mounts) {
    std::ranges::sort(mounts, std::greater<>{}, &Listed::mount_point);
  };
  struct Step {
    const Listed* mount;
    std::size_t depth;
  };
  std::vector<Step> stack;
  const auto push = [&](std::vector<const Listed*>& mounts, std::size_t depth) {
    last_first(mounts);
    for (const Listed* mount : mounts)
      stack.push_back({mount, depth});
  };
  push(roots, 0);
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    text += std::to_string(step.depth) + ' ';
    append_line(text, *step.mount, groups);
    if (const auto found = children.find(step.mount->id); found != children.end()) push(found->second, step.depth + 1);
  }
}

}  // namespace

std::string print_listing(const Listing& listing) {
  std::string text;
  GroupNumbers groups;
  for (const Listed& mount : listing)
    append_line(text, mount, groups);
  return text;
}

std::string canonical_text(const std::vector<Listing>& namespaces) {
  std::string text;
  GroupNumbers groups;
  for (const Listing& listing : namespaces) {
    append_tree(text, listing, groups);
    text += "--\n";
  }
  return text;
}

}  // namespace unmoor::cli::tree
