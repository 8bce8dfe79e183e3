// InFlightRequest: a request that a lane has taken, and its one state.
//
//   event                    kPosted     kRequested      kAwaitingReply  kReading
//   work completed (last)    kComplete   kAwaitingReply                  kComplete
//   reply                                kPosted         kComplete
//   reply, bytes to be read              kReading        kReading
//   step did not match       kStepPending
//   work failed (last)       kReplay     kReplayRequest                  kReplayRead
//   reply lost                                           kReplayRequest
//   no path to read by                                                   kReplayRead
//
// Posting the work anew leads from kStepPending and kReplay to kPosted, from kReplayRequest and
// kAwaitingReply to kRequested, and from kReplayRead to kReading. A reply completes kReplayRequest,
// too, or leads from there to kReading. Whatever is not complete may be abandoned. All else is
// refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/transport/ib/lane_env.hpp"
#include "host/transport/ib/outstanding.hpp"

namespace weft::ib {

class Connection;
class QueuePair;

enum class RequestState : std::uint8_t {
  kPosted,         // the device has work of it
  kRequested,      // the device has work of it, and the owner's reply is expected
  kAwaitingReply,  // the device has completed it, and the owner's reply is expected
  kReading,        // the owner has replied: its bytes are read out of the staging slot
  kStepPending,    // its step of compare-and-swap did not match: the next is to be posted
  kReplay,         // its path has failed: it is to be posted on another;
  kReplayRequest,  // likewise, unless the owner's reply comes before
  kReplayRead,     // likewise, but only the read out of the staging slot
  kComplete,
};

struct InFlightRequest {
  using State = RequestState;

  Op op;
  Connection* connection = nullptr;
  QueuePair* path = nullptr;
  Method method = Method::kTransfer;
  State state = State::kComplete;
  bool apart = false;        // on another rail than the main one
  bool bytes_there = false;  // a replay leaves its bytes out
  int work = 0;              // times that the device has got work of it and has not completed it
  int staging_slot = Windows::kNoStagingSlot;
  std::uint64_t expected = 0;  // what a step of compare-and-swap compares with
  std::uint64_t sequence = 0;  // of its request to the owner; 0: it needs none
  bool is_small = false;       // its bytes are these:
  std::array<std::byte, kInlineBytes> small{};
  Staging::Block block = {};  // or pass here; so does an old value

  bool is_done() const { return state == State::kComplete; }
  bool is_replay() const {
    return state == State::kReplay || state == State::kReplayRequest || state == State::kReplayRead;
  }
  bool expects_reply() const {
    return state == State::kRequested || state == State::kAwaitingReply ||
           state == State::kReplayRequest;
  }
  bool is_reading() const { return state == State::kReading || state == State::kReplayRead; }
  bool gets_by_staging_slot() const {
    return method == Method::kStagingSlot && op.kind == OpKind::kGet;
  }

  // Transitions. False: refused, and nothing has changed but the count of work.
  // The device has got work.
  bool work_posted();
  // There was nothing for the device to do.
  bool nothing_posted();
  // The device has completed work, or failed to: true if that was the last.
  bool work_completed();
  bool work_failed();
  bool step_did_not_match();
  // reads: its bytes are to be read out of the staging slot.
  bool replied(bool reads);
  // The path by which the reply would come has failed.
  bool reply_lost();
  // There is no path now by which to read out of the staging slot.
  bool read_delayed();
  bool abandon();

 private:
  bool change(State from, State to);
};

inline bool InFlightRequest::change(State from, State to) {
  if (state != from) return false;
  state = to;
  return true;
}

inline bool InFlightRequest::work_posted() {
  switch (state) {
    case State::kPosted:
    case State::kRequested:
    case State::kReading: break;
    case State::kStepPending:
    case State::kReplay: state = State::kPosted; break;
    case State::kAwaitingReply:
    case State::kReplayRequest: state = State::kRequested; break;
    case State::kReplayRead: state = State::kReading; break;
    case State::kComplete: return false;
  }
  ++work;
  return true;
}

inline bool InFlightRequest::nothing_posted() {
  if (work != 0) return false;
  return change(State::kPosted, State::kComplete) || change(State::kReplay, State::kComplete);
}

inline bool InFlightRequest::work_completed() {
  if (work == 0 || --work != 0) return false;
  return change(State::kPosted, State::kComplete) ||
         change(State::kRequested, State::kAwaitingReply) ||
         change(State::kReading, State::kComplete);
}

inline bool InFlightRequest::work_failed() {
  if (work == 0 || --work != 0) return false;
  return change(State::kPosted, State::kReplay) ||
         change(State::kRequested, State::kReplayRequest) ||
         change(State::kReading, State::kReplayRead);
}

inline bool InFlightRequest::step_did_not_match() {
  if (work != 1 || !change(State::kPosted, State::kStepPending)) return false;
  work = 0;
  return true;
}

inline bool InFlightRequest::replied(bool reads) {
  if (!expects_reply()) return false;
  if (reads)
    state = State::kReading;
  else
    state = work != 0 ? State::kPosted : State::kComplete;
  return true;
}

inline bool InFlightRequest::reply_lost() {
  if (!change(State::kAwaitingReply, State::kReplayRequest)) return false;
  bytes_there = true;
  return true;
}

inline bool InFlightRequest::read_delayed() { return change(State::kReading, State::kReplayRead); }

inline bool InFlightRequest::abandon() {
  if (state == State::kComplete) return false;
  state = State::kComplete;
  work = 0;
  return true;
}

}  // namespace weft::ib
