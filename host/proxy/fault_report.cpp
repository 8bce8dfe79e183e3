#include "host/proxy/fault_report.hpp"

#include <cstring>

#include <fmt/format.h>

namespace weft {

namespace {

const char* symbol(std::uint32_t cmp) {
  switch (static_cast<Cmp>(cmp)) {
    case Cmp::kEq: return "==";
    case Cmp::kNe: return "!=";
    case Cmp::kGt: return ">";
    case Cmp::kGe: return ">=";
    case Cmp::kLt: return "<";
    case Cmp::kLe: return "<=";
  }
  return "?";
}

double seconds(const FaultRecord& record) { return static_cast<double>(record.waited_ns) * 1e-9; }

std::string about_peer(const FaultRecord& record) {
  if (static_cast<std::uint32_t>(record.pe) == kAllPes) return "";  // not known, or all
  return fmt::format(" for PE {}", record.pe);
}

std::string about_writer(const FaultRecord& record, const LastWriter& last_writer) {
  const bool known = last_writer && record.offset != kNoHeapOffset;
  const std::string writer = known ? last_writer(record.offset) : "";
  return writer.empty() ? "" : fmt::format("; last written by {}", writer);
}

// The bits of a word as the kernel meant them.
std::string number(const FaultRecord& record, std::uint64_t bits) {
  if (record.type == WordType::kSigned) return fmt::format("{}", static_cast<std::int64_t>(bits));
  if (record.type != WordType::kDouble) return fmt::format("{}", bits);
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return fmt::format("{}", value);
}

std::string place(const FaultRecord& record) {
  if (record.offset == kNoHeapOffset) return "an address outside the symmetric heap";
  return fmt::format("heap offset {:#x}", record.offset);
}

std::string wait_text(const FaultRecord& r, const LastWriter& last_writer) {
  return fmt::format(
      "waited {:.3g} s{} at {}: saw {}, wanted {} {}{}. Has the PE that should write it stopped, "
      "or "
      "is the signal sent elsewhere? WEFT_WAIT_TIMEOUT sets the deadline",
      seconds(r), about_peer(r), place(r), number(r, r.seen), symbol(r.cmp), number(r, r.wanted),
      about_writer(r, last_writer));
}

std::string ring_text(const FaultRecord& r) {
  return fmt::format(
      "waited {:.3g} s{} for the host to carry its operations out: {} of {} are done. Is the PE "
      "that "
      "is addressed still there? WEFT_WAIT_TIMEOUT sets the deadline",
      seconds(r), about_peer(r), r.seen, r.wanted);
}

std::string nic_timeout_text(const FaultRecord& r) {
  return fmt::format(
      "waited {:.3g} s{} for the NIC to carry the kernel's requests out: {} of {} are done. Is the "
      "PE that is addressed still there? WEFT_WAIT_TIMEOUT sets the deadline",
      seconds(r), about_peer(r), r.seen, r.wanted);
}

bool is_of_wait(FaultCode code) {
  return code == FaultCode::kWaitTimeout || code == FaultCode::kRingTimeout ||
         code == FaultCode::kNicTimeout;
}

std::string gave_up_text(const FaultRecord& r, const Status& end) {
  const bool is_for_word = static_cast<FaultCode>(r.code) == FaultCode::kWaitTimeout;
  const std::string word = is_for_word
                               ? fmt::format(" at {}: saw {}, wanted {} {}", place(r),
                                             number(r, r.seen), symbol(r.cmp), number(r, r.wanted))
                               : "";
  return fmt::format("gave up after {:.3g} s{}{}: {}", seconds(r), about_peer(r), word, end.text());
}

std::string nic_error_text(const FaultRecord& r) {
  return fmt::format(
      "the NIC has given up the queue{}, with syndrome {:#x}; none of what was asked since is "
      "carried out",
      about_peer(r), r.seen);
}

std::string range_text(const FaultRecord& r, std::uint64_t heap_bytes) {
  if (r.offset == kNoHeapOffset)
    return fmt::format(
        "{} bytes at an address outside the symmetric heap of {} bytes; pass an "
        "address that allocate() gave",
        r.wanted, heap_bytes);
  return fmt::format(
      "{} bytes at heap offset {:#x} do not fit in the symmetric heap of {} bytes; "
      "counts are in elements, not bytes",
      r.wanted, r.offset, heap_bytes);
}

}  // namespace

Status describe_fault(const FaultRecord& r, int my_pe, int npes, std::uint64_t heap_bytes,
                      const LastWriter& last_writer, const Status& end) {
  const std::string_view where(r.where, strnlen(r.where, sizeof(r.where)));
  const std::string kernel =
      fmt::format("kernel on PE {} (context {}, block {}, thread {}), {}", my_pe, r.lane, r.block,
                  r.thread, where.empty() ? "operation not known" : where);
  const auto error = [&](Code code, const std::string& text) {
    return Status::error(code, fmt::format("{}: {}", kernel, text));
  };
  if (!end.is_ok() && is_of_wait(static_cast<FaultCode>(r.code)))
    return error(end.code(), gave_up_text(r, end));
  switch (static_cast<FaultCode>(r.code)) {
    case FaultCode::kWaitTimeout: return error(Code::kTimeout, wait_text(r, last_writer));
    case FaultCode::kRingTimeout: return error(Code::kTimeout, ring_text(r));
    case FaultCode::kBadPe:
      return error(Code::kOutOfRange,
                   fmt::format("PE {} does not exist; this job has PEs 0 to {}", r.pe, npes - 1));
    case FaultCode::kBadRange: return error(Code::kOutOfRange, range_text(r, heap_bytes));
    case FaultCode::kMisaligned:
      return error(Code::kInvalidArgument, fmt::format("a word at {} is not aligned to its size{}",
                                                       place(r), about_peer(r)));
    case FaultCode::kNotMember:
      return error(Code::kInvalidArgument, fmt::format("PE {} is not a member of team {}", r.pe,
                                                       static_cast<std::int32_t>(r.wanted)));
    case FaultCode::kBadRoot:
      return error(Code::kInvalidArgument,
                   fmt::format("root {} is not a rank of the team, which has ranks 0 to {}",
                               static_cast<std::int32_t>(r.seen), r.wanted - 1));
    case FaultCode::kTeamBroken:
      return error(Code::kTimeout,
                   fmt::format("an earlier collective on team {} failed, so its members are out of "
                               "step; make a new team of those that are left",
                               r.wanted));
    case FaultCode::kNicTimeout: return error(Code::kTimeout, nic_timeout_text(r));
    case FaultCode::kNicError: return error(Code::kIo, nic_error_text(r));
    case FaultCode::kNone: break;
  }
  return error(
      Code::kInternal,
      fmt::format("fault code {} does not exist; are kernel and library of one build?", r.code));
}

}  // namespace weft
