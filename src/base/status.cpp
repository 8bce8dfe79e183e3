#include "src/base/status.hpp"

#include <atomic>
#include <string>

#include <fmt/format.h>

#include "src/base/abort_text.hpp"
#include "src/base/log.hpp"

namespace weft {

// Shared by copies; immortal ones (busy) are never counted.
struct Status::Rep {
  std::atomic<int> references{1};
  Code code = Code::kInternal;
  bool immortal = false;
  std::atomic<bool> reported{false};
  std::string text;
  const char* file = "";
  int line = 0;
};

const char* to_string(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kOutOfRange: return "out of range";
    case Code::kNotSymmetric: return "not symmetric";
    case Code::kUnsupported: return "unsupported";
    case Code::kBusy: return "busy";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kTimeout: return "timeout";
    case Code::kIo: return "input/output";
    case Code::kPeerLost: return "peer lost";
    case Code::kVersionMismatch: return "version mismatch";
    case Code::kAborted: return "aborted";
    case Code::kInternal: return "internal error";
  }
  return "unknown";
}

Status Status::error(Code code, std::string text, const char* file, int line) {
  auto* rep = new Rep;
  rep->code = code;
  rep->text = std::move(text);
  rep->file = file;
  rep->line = line;
  return Status(rep);
}

Status Status::busy() noexcept {
  static Rep* const rep = [] {
    auto* made = new Rep;
    made->code = Code::kBusy;
    made->immortal = true;
    return made;
  }();
  return Status(rep);
}

Status::Status(const Status& other) noexcept : rep_(other.rep_) {
  if (rep_ != nullptr && !rep_->immortal) rep_->references.fetch_add(1, std::memory_order_relaxed);
}

void Status::release() noexcept {
  if (rep_->immortal) return;
  // acq_rel: the last owner must see what the others wrote before it deletes.
  if (rep_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}

Code Status::code() const noexcept { return rep_ == nullptr ? Code::kOk : rep_->code; }

const char* Status::text() const noexcept { return rep_ == nullptr ? "" : rep_->text.c_str(); }

std::string Status::to_string() const {
  if (rep_ == nullptr) return "ok";
  const std::string_view path = rep_->file;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::string out = weft::to_string(rep_->code);
  if (!rep_->text.empty()) out += ": " + rep_->text;
  if (rep_->line > 0) out += " (" + std::string(name) + ":" + std::to_string(rep_->line) + ")";
  return out;
}

namespace {

thread_local std::string last_error_text;

}  // namespace

// Busy is an answer, not a failure. A call may be built from others that report: the flag of the
// shared Rep keeps the log to one line.
Status detail::report_failure(Status status) {
  if (status.is(Code::kBusy)) return status;
  last_error_text = status.to_string();
  if (status.rep_->reported.exchange(true, std::memory_order_relaxed)) return status;
  if (status.is(Code::kAborted) && last_error_text.find(abort_text(0)) != std::string::npos)
    LOG(kInfo, "api", "{}", last_error_text);
  else
    LOG(kError, "api", "{}", last_error_text);
  return status;
}

std::string abort_text(int code) {
  return fmt::format("{} the job with code {}", code == 0 ? "ended" : "aborted", code);
}

__thread const char* detail::caller_name = nullptr;

std::string_view caller_or(std::string_view routine) noexcept {
  return detail::caller_name == nullptr ? routine : std::string_view(detail::caller_name);
}

std::string_view caller_argument(std::string_view argument) noexcept {
  if (detail::caller_name == nullptr) return argument;
  struct Name {
    std::string_view ours, theirs;
  };
  static constexpr Name kNames[] = {
      {"dst", "dest"},       {"src", "source"},      {"dst_stride", "dst"},
      {"src_stride", "sst"}, {"signal", "sig_addr"}, {"word", "ivar"},
      {"words", "ivars"},    {"memory", "ptr"},      {"count", "nelems"}};
  for (const Name& name : kNames)
    if (name.ours == argument) return name.theirs;
  return argument;
}

const char* last_error() noexcept { return last_error_text.c_str(); }

}  // namespace weft
