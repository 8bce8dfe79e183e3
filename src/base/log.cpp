#include "src/base/log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/environment.hpp"
#include "src/base/file_size_signal.hpp"
#include "src/base/unique_fd.hpp"

namespace weft {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"error", "warn", "info", "debug", "trace"};

struct Levels {
  LogLevel base = LogLevel::kWarn;
  std::vector<std::pair<std::string, LogLevel>> subsystems;

  LogLevel of(std::string_view subsystem) const {
    for (const auto& [name, level] : subsystems) {
      if (name == subsystem) return level;
    }
    return base;
  }
  LogLevel highest() const {
    LogLevel level = base;
    for (const auto& pair : subsystems) level = std::max(level, pair.second);
    return level;
  }
};

std::optional<LogLevel> level_of(std::string_view name) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

Result<Levels> parse_levels(std::string_view text) {
  Levels levels;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t colon = item.find(':');
    const bool names_subsystem = colon != std::string_view::npos;
    const std::optional<LogLevel> level = level_of(names_subsystem ? item.substr(colon + 1) : item);
    if (!level || colon == 0) {
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("'{}' is no log level; accepted is a level (error, warn, info, debug, "
                      "trace), then subsystem:level pairs, as in info,transport:debug",
                      item));
    }
    if (names_subsystem) {
      // The last word on a subsystem counts.
      std::erase_if(levels.subsystems,
                    [&](const auto& pair) { return pair.first == item.substr(0, colon); });
      levels.subsystems.emplace_back(item.substr(0, colon), *level);
    } else {
      levels.base = *level;
    }
  }
  return levels;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// %h host, %p process, %e PE ("none" on a thread of no PE), %% a percent sign.
std::string expand(std::string_view pattern, int pe) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || std::string_view("hpe%").find(next) == std::string_view::npos ||
        next == '\0') {
      out += pattern[i];
      continue;
    }
    ++i;
    if (next == 'h') out += host_name();
    if (next == 'p') out += std::to_string(::getpid());
    if (next == 'e') out += pe < 0 ? "none" : std::to_string(pe);
    if (next == '%') out += '%';
  }
  return out;
}

// False, with errno, if not all of it could be written.
bool write_all(int fd, std::string_view line) noexcept {
  const NoFileSizeSignal limited;
  while (!line.empty()) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Others than this user and root may put files into the folder of `path`, as into /tmp.
bool others_may_write_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) return true;
  const bool trusted = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  return !trusted || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Status cannot_open(const std::string& path, std::string_view why) {
  return Status::error(Code::kIo,
                       fmt::format("WEFT_LOG_FILE: cannot open '{}' for writing: {}", path, why));
}

// A stranger may have planted it: a link to a file that only this user may write, or a file that
// only he may read.
Status check_planted(int fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return cannot_open(path, std::strerror(errno));
  if (S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() && facts.st_nlink == 1) {
    return Status::ok();
  }
  return cannot_open(path,
                     "others may write in its folder, and there it must be a plain file of this "
                     "user with one name; remove it, or choose a folder of your own");
}

// A new file, or what is there already: a log of other PEs, or of an earlier run.
Result<UniqueFd> open_log(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC;
  const bool shared = others_may_write_beside(path);
  for (int tries = 0; tries < 3; ++tries) {  // it may come and go in between
    UniqueFd fd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    if (fd) return fd;
    if (errno != EEXIST) break;
    // A planted pipe must not make this wait for a reader.
    fd.reset(::open(path.c_str(), kFlags | (shared ? O_NOFOLLOW | O_NONBLOCK : 0)));
    if (fd && shared) RETURN_IF_ERROR(check_planted(fd.get(), path));
    if (fd) return fd;
    if (errno == ELOOP && shared) {
      return cannot_open(path, "it is a link in a folder where others may write");
    }
    if (errno != ENOENT) break;
  }
  return cannot_open(path, fmt::format("{}; name a file in a folder that exists and may be written",
                                       std::strerror(errno)));
}

// Where lines go: standard error, or the files that a pattern with %e makes, one per PE.
class Sink {
 public:
  explicit Sink(std::string_view pattern = "") : pattern_(pattern) {}

  Status open(int pe) {
    std::string path = expand(pattern_, pe);
    if (path.empty() || files_.contains(path)) return Status::ok();
    ASSIGN_OR_RETURN(UniqueFd fd, open_log(path));
    files_.emplace(std::move(path), std::move(fd));
    return Status::ok();
  }

  void write(int pe, std::string_view line) {
    if (Status opened = open(pe); !opened.is_ok()) give_files_up(opened.to_string());
    const auto file = files_.find(expand(pattern_, pe));
    if (file != files_.end()) {
      if (write_all(file->second.get(), line)) return;
      give_files_up(fmt::format("WEFT_LOG_FILE: '{}' cannot be written: {}", file->first,
                                std::strerror(errno)));
    }
    write_all(STDERR_FILENO, line);  // nowhere else to complain
  }

 private:
  // Said once; from now on standard error.
  void give_files_up(const std::string& why) {
    write_all(STDERR_FILENO, fmt::format("weft warn log: {}; the log goes on here\n", why));
    pattern_.clear();
    files_.clear();
  }

  std::string pattern_;
  std::map<std::string, UniqueFd> files_;
};

// One per process. Never destroyed: threads may still log while the process ends.
class Log {
 public:
  static Log& instance() {
    static Log* const log = new Log;
    return *log;
  }

  Status configure(std::string_view text, std::string_view file) {
    ASSIGN_OR_RETURN(Levels levels, parse_levels(text));
    Sink sink(file);
    RETURN_IF_ERROR(sink.open(log_pe()));
    const std::lock_guard lock(mutex_);
    use(std::move(levels), std::move(sink));
    return Status::ok();
  }

  bool enabled(LogLevel level, std::string_view subsystem) {
    const int highest = highest_.load(std::memory_order_relaxed);  // a hint; the mutex decides
    if (highest != kUnset && static_cast<int>(level) > highest) return false;
    const std::lock_guard lock(mutex_);
    if (highest_.load(std::memory_order_relaxed) == kUnset) read_environment();
    return level <= levels_.of(subsystem);
  }

  void write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    sink_.write(log_pe(), line);
  }

  // A child of fork() logs, too, while another thread of its parent may just have done so.
  static void lock_for_fork() { instance().mutex_.lock(); }
  static void unlock_after_fork() { instance().mutex_.unlock(); }

 private:
  static constexpr int kUnset = -1;

  void use(Levels levels, Sink sink) {
    levels_ = std::move(levels);
    sink_ = std::move(sink);
    highest_.store(static_cast<int>(levels_.highest()), std::memory_order_relaxed);
  }

  // Wrong text must not silence the log: it is said and the default holds.
  void read_environment() {
    Result<Levels> levels = parse_levels(environment_value("WEFT_LOG").value_or(""));
    use(levels.value_or(Levels{}), Sink(environment_value("WEFT_LOG_FILE").value_or("")));
    if (!levels.is_ok()) {
      sink_.write(log_pe(), fmt::format("weft warn log: WEFT_LOG: {}\n", levels.status().text()));
    }
  }

  std::mutex mutex_;
  std::atomic<int> highest_{kUnset};
  Levels levels_;
  Sink sink_;
};

// When the library is loaded, before all others: the lock that fork() then takes last, as whoever
// holds one of the others may log.
[[maybe_unused]] const int kForkIsHandled =
    ::pthread_atfork(Log::lock_for_fork, Log::unlock_after_fork, Log::unlock_after_fork);

thread_local int this_pe = -1;

// The PE of threads that say none, such as a program's own: that of the process, if it has one
// only.
constexpr int kNoPe = -1, kSeveralPes = -2;
std::atomic<int> process_pe{kNoPe};

}  // namespace

Status configure_log(std::string_view levels, std::string_view file) {
  return Log::instance().configure(levels, file);
}

Status check_log_levels(std::string_view levels) { return parse_levels(levels).status(); }

void set_log_pe(int pe) noexcept {
  this_pe = pe;
  int known = kNoPe;
  if (pe >= 0 && !process_pe.compare_exchange_strong(known, pe) && known != pe)
    process_pe.store(kSeveralPes);
}
int log_pe() noexcept { return this_pe >= 0 ? this_pe : std::max(process_pe.load(), kNoPe); }

bool log_enabled(LogLevel level, std::string_view subsystem) noexcept {
  return Log::instance().enabled(level, subsystem);
}

void log_line(LogLevel level, std::string_view subsystem, std::string_view text) noexcept {
  const int pe = log_pe();
  const std::string source = pe < 0 ? "weft" : fmt::format("weft[{}]", pe);
  const std::string_view name = kLevelNames[static_cast<std::size_t>(level)];
  Log::instance().write(fmt::format("{} {} {}: {}\n", source, name, subsystem, text));
}

}  // namespace weft
