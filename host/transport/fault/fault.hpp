// fault: a transport inside a fault injector (WEFT_FAULT). The things that it may do to an op are
// written in fault/lane.hpp; it gives no addresses away, so that every op goes through post().
//
//   seed=n        of the random choices; the same seed and the same calls give the same deliveries
//   late=1        plain puts arrive at a quiet, or when an op fenced behind them does; the rest
//                 arrives a few progress calls later; all in random order, as far as it is free
//   delay=p       with probability p an op waits for some more progress calls; what is fenced
//                 behind it waits too
//   delay_calls=n for 1 to n of them (16)
//   duplicate=p   the bytes of a put or get move twice before they count as complete. Not of
//                 single words, atomics and notifies: a legal program could tell
//   drop=p        the op is lost and never completes; every later wait of the lane ends at its
//                 deadline with a report, since ops complete in order
//   busy=p        post() answers kBusy, and the caller must come again
//   max_bytes=n   an op carries at most n bytes: larger ones must be cut
//   fail_after=n  post() fails with kIo once a lane has taken n ops
//   kill_pe=k     ops to PE k fail with kPeerLost once kill_after of a lane have gone there; ops
//                 that are still held are lost, and progress() says so
#pragma once

#include <memory>

#include "host/transport/fault/spec.hpp"
#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_fault(std::unique_ptr<Transport> inner, const FaultSpec& spec,
                                      const TransportEnv& env);

}  // namespace weft
