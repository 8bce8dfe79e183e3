#include "bootstrap/rendezvous.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bootstrap/pe_list.hpp"
#include "src/base/abort_text.hpp"

namespace weft {
namespace {

Rendezvous::Time later(Rendezvous::Time now, double seconds) {
  // Far deadlines saturate instead of wrapping round.
  constexpr double kFar = 1e9;
  const auto delay = std::chrono::duration<double>(std::min(seconds, kFar));
  return now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay);
}

const char* have(const std::vector<int>& pes) { return pes.size() == 1 ? "has" : "have"; }

}  // namespace

const char* to_string(Rendezvous::Call call) {
  switch (call) {
    case Rendezvous::Call::kAllgather: return "allgather";
    case Rendezvous::Call::kBarrier: return "barrier";
    case Rendezvous::Call::kLeave: return "leave";
  }
  return "unknown call";
}

Rendezvous::Rendezvous(int npes, double timeout_s)
    : seats_(static_cast<std::size_t>(npes)), timeout_s_(timeout_s), missing_(npes) {}

Status Rendezvous::join(int pe, Member member, Time now) {
  if (pe < 0 || pe >= npes()) {
    return Status::error(Code::kOutOfRange,
                         fmt::format("PE {} is outside 0..{}: the job has {} PEs. Give each PE its "
                                     "own number there (WEFT_PE)",
                                     pe, npes() - 1, npes()));
  }
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (seat.state != State::kMissing && seat.member == member) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("this process is PE {} of the job already: another library in it has made a "
                    "runtime. Share that one (hand on its weft::Runtime; nvshmemx_init_attr with "
                    "NVSHMEMX_INIT_WITH_SHMEM beside OpenSHMEM), or make a job of its own, with a "
                    "unique id that PE 0 creates and sends to all (weft::UniqueId, WEFT_UNIQUE_ID)",
                    pe));
  }
  if (seat.state != State::kMissing) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("PE {} is taken: {} came first. Give each process its own WEFT_PE, and each "
                    "job its own unique id",
                    pe, name(pe)));
  }
  if (!failure_.is_ok()) return failure_;
  seat.state = State::kHere;
  seat.member = std::move(member);
  if (missing_ == npes()) start_deadline_ = later(now, timeout_s_);
  if (--missing_ == 0) start_deadline_ = Time::max();
  return Status::ok();
}

void Rendezvous::enter(int pe, Call call, std::uint64_t sequence, Blob mine, Time now) {
  if (!failure_.is_ok()) return;
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (seat.state != State::kHere || seat.entered || sequence != completed_ + 1) {
    return fail(Status::error(Code::kInternal,
                              fmt::format("{} sent {} as its call {}, but the job is at call {}",
                                          name(pe), to_string(call), sequence, completed_ + 1)));
  }
  if (!take_entry(pe, call)) return;
  if (entered_ == 1) call_deadline_ = later(now, timeout_s_);
  seat.mine = std::move(mine);
  if (entered_ == npes()) return complete_call();
  check_gone();
}

// False: it ended the job.
bool Rendezvous::take_entry(int pe, Call call) {
  if (entered_ > 0 && call != call_) {
    const auto others = seats_where([](const Seat& s) { return s.entered; });
    fail(Status::error(
        Code::kInvalidArgument,
        fmt::format("collective calls come in a different order: call {} is {} on PE {} but {} on "
                    "{}. Every PE must make the same collective calls in the same order",
                    completed_ + 1, to_string(call), pe, to_string(call_), name_pes(others))));
    return false;
  }
  call_ = call;
  seats_[static_cast<std::size_t>(pe)].entered = true;
  ++entered_;
  return true;
}

void Rendezvous::wait(int pe, Call call, std::uint64_t sequence) {
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (!failure_.is_ok() || seat.state != State::kHere || sequence <= completed_) return;
  // A PE that has come to this call has everybody's bytes of the calls before, so those are
  // complete.
  if (sequence > completed_ + 1) {
    for (Seat& each : seats_) each.entered = false;
    entered_ = 0;
    completed_ = sequence - 1;
  }
  if (!seat.entered && take_entry(pe, call)) check_gone();
}

void Rendezvous::time_out(int pe, Call call, std::uint64_t sequence) {
  wait(pe, call, sequence);
  if (!failure_.is_ok() || sequence != completed_ + 1) return;
  if (entered_ < npes()) return fail(late());
  fail(Status::error(
      Code::kTimeout,
      fmt::format("{} did not get through {} (call {}) within {:g} s, although all {} PEs are in "
                  "it: they cannot reach each other. A firewall may stand between their hosts, or "
                  "strangers crowd their ports (ss -tnp shows who); "
                  "WEFT_BOOTSTRAP_INTERFACE and WEFT_BIND_ADDRESS choose another network",
                  name(pe), to_string(call), sequence, timeout_s_, npes())));
}

void Rendezvous::complete_call() {
  auto all = std::make_shared<std::vector<Blob>>();
  all->reserve(seats_.size());
  for (Seat& seat : seats_) {
    all->push_back(std::exchange(seat.mine, {}));
    seat.entered = false;
  }
  gathered_ = std::move(all);
  entered_ = 0;
  call_deadline_ = Time::max();
  ++completed_;
}

void Rendezvous::leave(int pe) { leave_after(pe, completed_); }

void Rendezvous::leave_after(int pe, std::uint64_t calls) {
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (seat.state != State::kHere) return;
  seat.state = State::kLeft;
  seat.calls = calls;
  ++left_;
  check_gone();
}

// An open call cannot end once a PE has left before it.
void Rendezvous::check_gone() {
  if (entered_ == 0 || left_ == 0 || !failure_.is_ok()) return;
  const auto gone = seats_where(
      [this](const Seat& s) { return s.state == State::kLeft && s.calls <= completed_; });
  if (gone.empty()) return;
  const auto waiting = seats_where([](const Seat& s) { return s.entered; });
  fail(Status::error(
      Code::kPeerLost,
      fmt::format("{} {} left the job while {} {} in {} (call {}). A PE leaves when its runtime is "
                  "destroyed or could not be made; look at what it printed",
                  name_pes(gone), have(gone), name_pes(waiting),
                  waiting.size() == 1 ? "waits" : "wait", to_string(call_), completed_ + 1)));
}

void Rendezvous::lose(int pe, std::string_view how) {
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (seat.state == State::kLeft || seat.state == State::kLost) return;
  const std::string lost = name(pe);
  seat.state = State::kLost;
  if (failure_.is_ok()) culprit_ = pe;
  fail(Status::error(Code::kPeerLost,
                     fmt::format("{} is lost: {}. Look at what it printed last", lost, how)));
}

void Rendezvous::abort(int pe, int code, std::string_view why) {
  if (!failure_.is_ok()) return;
  abort_code_ = code;
  culprit_ = pe;
  fail(Status::error(Code::kAborted, fmt::format("{} {}: {}", name(pe), abort_text(code), why)));
}

void Rendezvous::fail(Status failure) {
  if (!failure_.is_ok()) return;
  failure_ = std::move(failure);
  start_deadline_ = call_deadline_ = Time::max();
}

Rendezvous::Time Rendezvous::deadline() const { return std::min(start_deadline_, call_deadline_); }

void Rendezvous::expire(Time now) {
  if (now < deadline()) return;
  if (now >= start_deadline_) {
    const auto missing = seats_where([](const Seat& s) { return s.state == State::kMissing; });
    return fail(Status::error(
        Code::kTimeout,
        fmt::format("{} of {} {} not come within {:g} s. Look at what became of them, or raise "
                    "WEFT_START_TIMEOUT",
                    name_pes(missing), npes(), have(missing), timeout_s_)));
  }
  fail(late());
}

Status Rendezvous::late() const {
  const auto late = seats_where([](const Seat& s) { return !s.entered; });
  return Status::error(
      Code::kTimeout,
      fmt::format("{} of {} {} not come to {} (call {}) within {:g} s{}. Look at what they do, or "
                  "raise WEFT_START_TIMEOUT",
                  name_pes(late), npes(), have(late), to_string(call_), completed_ + 1, timeout_s_,
                  where(late)));
}

// " (PE 2: pid 71 on node3, PE 5: pid 72 on node4)"; "" of PEs that are threads of one process.
std::string Rendezvous::where(const std::vector<int>& pes) const {
  constexpr std::size_t kMostNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(pes.size(), kMostNamed); ++i) {
    const Member& member = seats_[static_cast<std::size_t>(pes[i])].member;
    if (member.pid == 0) return "";
    text +=
        fmt::format("{}PE {}: pid {} on {}", i == 0 ? " (" : ", ", pes[i], member.pid, member.host);
  }
  return text + (pes.size() > kMostNamed ? ", ...)" : ")");
}

Status Rendezvous::leave_timeout() const {
  const auto staying = seats_where([](const Seat& s) { return s.state == State::kHere; });
  return Status::error(Code::kTimeout,
                       fmt::format("{} of {} {} not left the job within {:g} s; not waiting longer",
                                   name_pes(staying), npes(), have(staying), timeout_s_));
}

std::string Rendezvous::name(int pe) const {
  const Member& member = seats_[static_cast<std::size_t>(pe)].member;
  if (member.pid == 0) return fmt::format("PE {}", pe);
  return fmt::format("PE {} (pid {} on {})", pe, member.pid, member.host);
}

std::vector<int> Rendezvous::seats_where(const std::function<bool(const Seat&)>& wanted) const {
  std::vector<int> pes;
  for (int pe = 0; pe < npes(); ++pe) {
    if (wanted(seats_[static_cast<std::size_t>(pe)])) pes.push_back(pe);
  }
  return pes;
}

}  // namespace weft
