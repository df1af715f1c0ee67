// SPDX-License-Identifier: MIT
#include "cli/tree/script.h"

#include <algorithm>
#include <array>
#include <span>
#include <sys/mount.h>

#include "cli/tree/attribute_words.h"
#include "cli/tree/errno_name.h"

namespace unmoor::cli::tree {
namespace {

// How the words after the verb are read.
enum class Shape : std::uint8_t {
  kTarget,        // P
  kNameTarget,    // NAME P
  kSourceTarget,  // FROM TO
  kAttributes,    // P WORDS
  kUnmount,       // [-l] [-f] [-e] P
  kNamespace,     // NAME [from NAME] [less-privileged]
  kName,          // NAME
  kOptionalName,  // [NAME]
};

struct Form {
  std::string_view word;
  Verb verb;
  Shape shape;
  bool recursive = false;
};

constexpr std::array kForms{
    Form{"mkdir", Verb::kMakeDirectory, Shape::kTarget},
    Form{"file", Verb::kMakeFile, Shape::kTarget},
    Form{"mount", Verb::kMount, Shape::kNameTarget},
    Form{"bind", Verb::kBind, Shape::kSourceTarget},
    Form{"rbind", Verb::kBind, Shape::kSourceTarget, true},
    Form{"move", Verb::kMove, Shape::kSourceTarget},
    Form{"beneath", Verb::kMoveBeneath, Shape::kSourceTarget},
    Form{"group", Verb::kSetGroup, Shape::kSourceTarget},
    Form{"shared", Verb::kShared, Shape::kTarget},
    Form{"rshared", Verb::kShared, Shape::kTarget, true},
    Form{"slave", Verb::kSlave, Shape::kTarget},
    Form{"rslave", Verb::kSlave, Shape::kTarget, true},
    Form{"private", Verb::kPrivate, Shape::kTarget},
    Form{"rprivate", Verb::kPrivate, Shape::kTarget, true},
    Form{"unbindable", Verb::kUnbindable, Shape::kTarget},
    Form{"runbindable", Verb::kUnbindable, Shape::kTarget, true},
    Form{"attr", Verb::kSetAttributes, Shape::kAttributes},
    Form{"rattr", Verb::kSetAttributes, Shape::kAttributes, true},
    Form{"umount", Verb::kUnmount, Shape::kUnmount},
    Form{"pivot", Verb::kPivotRoot, Shape::kSourceTarget},
    Form{"ns", Verb::kCopyNamespace, Shape::kNamespace},
    Form{"pin", Verb::kPin, Shape::kNameTarget},
    Form{"unpin", Verb::kUnpin, Shape::kName},
    Form{"mountinfo", Verb::kMountInfo, Shape::kOptionalName},
};

struct UnmountOption {
  std::string_view word;
  int flag;
};
constexpr std::array kUnmountOptions{UnmountOption{"-l", MNT_DETACH}, UnmountOption{"-f", MNT_FORCE},
                                     UnmountOption{"-e", MNT_EXPIRE}};

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlank, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

using Words = std::span<const std::string_view>;
using Complaint = std::string;  // empty: none

Complaint read_unmount(Words words, Operation& operation) {
  while (!words.empty() && words.front().starts_with('-')) {
    const auto* const option = std::ranges::find(kUnmountOptions, words.front(), &UnmountOption::word);
    if (option == kUnmountOptions.end()) return "no option " + std::string(words.front()) + " of umount (-l, -f, -e)";
    operation.umount_flags |= option->flag;
    words = words.subspan(1);
  }
  if (words.size() != 1) return "umount takes one path";
  operation.target = words[0];
  return {};
}

Complaint read_namespace(Words words, Operation& operation) {
  if (!words.empty() && words.back() == "less-privileged") {
    operation.less_privileged = true;
    words = words.first(words.size() - 1);
  }
  if (words.size() != 1 && !(words.size() == 3 && words[1] == "from")) {
    return "ns takes NAME [from NAME] [less-privileged]";
  }
  operation.name = words[0];
  operation.source = words.size() == 3 ? std::string(words[2]) : operation.ns;
  return {};
}

Complaint read_arguments(const Form& form, Words words, Operation& operation) {
  const auto wrong = [&](const char* takes) { return std::string(form.word) + " takes " + takes; };
  switch (form.shape) {
    case Shape::kTarget:
      if (words.size() != 1) return wrong("one path");
      operation.target = words[0];
      return {};
    case Shape::kNameTarget:
      if (words.size() != 2) return wrong("a name and a path");
      operation.name = words[0];
      operation.target = words[1];
      return {};
    case Shape::kSourceTarget:
      if (words.size() != 2) return wrong("two paths");
      operation.source = words[0];
      operation.target = words[1];
      return {};
    case Shape::kAttributes: {
      if (words.size() != 2) return wrong("a path and options");
      const auto bits = parse_attributes(words[1]);
      if (!bits) return "not per-mount options: " + std::string(words[1]);
      operation.target = words[0];
      operation.attributes = *bits;
      return {};
    }
    case Shape::kUnmount:
      return read_unmount(words, operation);
    case Shape::kNamespace:
      return read_namespace(words, operation);
    case Shape::kName:
      if (words.size() != 1) return wrong("one name");
      operation.name = words[0];
      return {};
    case Shape::kOptionalName:
      if (words.size() > 1) return wrong("at most one name");
      operation.name = words.empty() ? operation.ns : std::string(words[0]);
      return {};
  }
  return {};
}

Complaint read_line(Words words, Operation& operation) {
  if (words.size() >= 2 && words[words.size() - 2] == "->") {
    operation.expected_errno = errno_from_name(words.back());
    if (!operation.expected_errno) return "no errno is called " + std::string(words.back());
    words = words.first(words.size() - 2);
  }
  operation.ns = kFirstNamespace;
  if (!words.empty() && words.front() == "in") {
    if (words.size() < 3) return "in takes a namespace and an operation";
    operation.ns = words[1];
    words = words.subspan(2);
  }
  if (words.empty()) return "an operation is missing";
  const auto* const form = std::ranges::find(kForms, words.front(), &Form::word);
  if (form == kForms.end()) return "no operation is called " + std::string(words.front());
  operation.verb = form->verb;
  operation.recursive = form->recursive;
  return read_arguments(*form, words.subspan(1), operation);
}

std::string arguments(const Form& form, const Operation& operation) {
  switch (form.shape) {
    case Shape::kTarget:
      return operation.target;
    case Shape::kNameTarget:
      return operation.name + " " + operation.target;
    case Shape::kSourceTarget:
      return operation.source + " " + operation.target;
    case Shape::kAttributes:
      return operation.target + " " + attribute_words(operation.attributes);
    case Shape::kUnmount: {
      std::string options;
      for (const UnmountOption& option : kUnmountOptions) {
        if ((operation.umount_flags & option.flag) != 0) options += std::string(option.word) + " ";
      }
      return options + operation.target;
    }
    case Shape::kNamespace:
      return operation.name + " from " + operation.source + (operation.less_privileged ? " less-privileged" : "");
    case Shape::kName:
    case Shape::kOptionalName:
      return operation.name;
  }
  return {};
}

}  // namespace

std::expected<std::vector<Operation>, ScriptError> parse_script(std::string_view text) {
  std::vector<Operation> operations;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string_view> words = split_words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto comment = std::ranges::find_if(words, [](std::string_view word) { return word.starts_with('#'); });
    words.erase(comment, words.end());
    if (words.empty()) continue;
    Operation operation;
    operation.line = line;
    if (Complaint complaint = read_line(words, operation); !complaint.empty()) {
      return std::unexpected(ScriptError{line, std::move(complaint)});
    }
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string script_line(const Operation& operation) {
  const auto* const form = std::ranges::find_if(kForms, [&](const Form& candidate) {
    return candidate.verb == operation.verb && candidate.recursive == operation.recursive;
  });
  std::string line = operation.ns == kFirstNamespace ? "" : "in " + operation.ns + " ";
  line += std::string(form->word) + " " + arguments(*form, operation);
  if (operation.expected_errno) line += " -> " + errno_name(*operation.expected_errno);
  return line;
}

}  // namespace unmoor::cli::tree
