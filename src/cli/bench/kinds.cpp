// SPDX-License-Identifier: MIT
#include "cli/bench/kinds.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench/own_calls.h"
#include "cli/bench/planted_holder.h"
#include "kernel/unique_fd.h"
#include "measure/command.h"
#include "measure/interrupt.h"
#include "measure/loop_device.h"

namespace unmoor::cli::bench {
namespace {

using measure::Arguments;
using measure::LoopDevice;

struct Kind {
  const char* planted;  // as unmoor-hold calls it
  const char* called;   // as `unmoor who --json` does
};

constexpr std::array kKinds = {
    Kind{"descriptor", "descriptor"},
    Kind{"path-descriptor", "path-descriptor"},
    Kind{"working-directory", "working-directory"},
    Kind{"root-directory", "root-directory"},
    Kind{"mapping", "mapping"},
    Kind{"executable", "executable"},
    Kind{"deleted", "descriptor"},
    Kind{"thread-cwd", "working-directory"},
    Kind{"thread-descriptor", "descriptor"},
    Kind{"zombie-leader", "descriptor"},
    Kind{"in-flight", "in-flight"},
    Kind{"io_uring-file", "io_uring-file"},
    Kind{"bound-socket", "bound-socket"},
    Kind{"namespace", "namespace"},
    Kind{"namespace-descriptor", "namespace-by-descriptor"},
    Kind{"namespace-mount", "namespace-by-mount"},
    Kind{"detached-tree", "detached-tree"},
    Kind{"bind-copy", "mount"},
    Kind{"nested-mount", "nested-mount"},
    Kind{"overlay", "overlay"},
    Kind{"swap", "swap"},
    Kind{"loop", "loop"},
    Kind{"binary-format", "binary-format"},
    Kind{"uprobe", "uprobe"},
};

// Lines that tell of a holder, sorted. fuser also complains about processes that it may not look into.
std::vector<std::string> telling_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !line.starts_with("Cannot ")) lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(lines);
  return lines;
}

bool names_kind(const std::string& json, std::string_view kind) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object() || !document.contains("targets")) return false;
  for (const auto& target : document["targets"]) {
    for (const auto& holder : target["holders"]) {
      if (holder["kind"] == kind) return true;
    }
  }
  return false;
}

// Another program has found the holder when it prints a line that it did not print before.
class Asked {
 public:
  Asked(std::string name, Arguments command) : name_(std::move(name)), command_(std::move(command)) {}
  [[nodiscard]] const std::string& name() const { return name_; }

  void before() {
    const Result<std::string> text = measure::output_of(command_);
    missing_ = !text;
    if (text) before_ = telling_lines(*text);
  }
  [[nodiscard]] std::optional<bool> finds() const {
    if (missing_) return std::nullopt;
    const Result<std::string> text = measure::output_of(command_);
    return text && !std::ranges::includes(before_, telling_lines(*text));
  }

 private:
  std::string name_;
  Arguments command_;
  bool missing_ = false;
  std::vector<std::string> before_;
};

// ext4 on a loop device where that is allowed, else a tmpfs; gone with this.
class Subject {
 public:
  static Result<Subject> make() {
    Subject subject;
    Result<LoopDevice> loop = LoopDevice::make(32 << 20);
    if (loop) subject.loop_.emplace(std::move(*loop));
    const bool formatted = subject.loop_ && measure::run_command({"mkfs.ext4", "-q", subject.loop_->path()});
    if (formatted && mount(subject.loop_->path().c_str(), "mnt", "ext4", 0, nullptr) != 0)
      return fail(errno, "mount ext4", "mnt");
    if (!formatted) {
      if (const Result<void> mounted = mount_tmpfs(kPoint); !mounted) return std::unexpected(mounted.error());
    }
    subject.mounted_ = true;
    const kernel::UniqueFd file(open("mnt/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || write(file.get(), "text", 4) != 4) return fail(errno, "write", "mnt/file");
    return subject;
  }
  Subject(Subject&& other) noexcept : loop_(std::move(other.loop_)), mounted_(other.mounted_) {
    other.mounted_ = false;
  }
  Subject& operator=(Subject&&) = delete;
  ~Subject() {
    if (mounted_) umount2("mnt", MNT_DETACH);
    if (loop_) (void)loop_->wait_until_free(std::chrono::seconds(10));
  }

 private:
  Subject() = default;
  std::optional<LoopDevice> loop_;
  bool mounted_ = false;
};

Result<KindRow> try_kind(const std::string& unmoor, const Kind& kind, std::vector<Asked>& others) {
  const Result<Subject> subject = Subject::make();
  if (!subject) return std::unexpected(subject.error());
  char* const here = get_current_dir_name();
  const std::string point = std::string(here) + "/mnt";
  std::free(here);
  struct ::stat facts{};
  if (stat("mnt", &facts) != 0) return fail(errno, "stat", "mnt");
  // Each is asked in the way that finds most: lsfd by device and with threads.
  others = {{"lsof", {"lsof", point}},
            {"fuser", {"fuser", "-vm", point}},
            {"lsfd", {"lsfd", "-l", "-Q", fmt::format("DEV == \"{}:{}\"", major(facts.st_dev), minor(facts.st_dev))}}};
  for (Asked& other : others)
    other.before();
  KindRow row{kind.planted, {}};
  const Result<PlantedHolder> planted = PlantedHolder::plant(kind.planted, point);
  if (!planted && planted.error().code != ENOTSUP) return std::unexpected(planted.error());
  if (!planted) {
    row.found.resize(1 + others.size());
    return row;
  }
  const Result<std::string> ours = measure::output_of({unmoor, "who", "--json", point});
  if (!ours) return std::unexpected(ours.error());
  row.found.emplace_back(names_kind(*ours, kind.called));
  for (const Asked& other : others)
    row.found.push_back(other.finds());
  return row;
}

}  // namespace

Result<KindTable> plant_each_kind(const std::string& unmoor) {
  KindTable table;
  std::vector<Asked> others;
  for (const Kind& kind : kKinds) {
    Result<KindRow> row = try_kind(unmoor, kind, others);
    if (measure::interrupted() != 0) return fail(EINTR, "ask");
    if (!row) return std::unexpected(row.error());
    table.rows.push_back(std::move(*row));
  }
  table.programs = {"unmoor who"};
  for (const Asked& other : others)
    table.programs.push_back(other.name());
  return table;
}

}  // namespace unmoor::cli::bench
