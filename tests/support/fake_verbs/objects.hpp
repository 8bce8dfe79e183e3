// Objects that clients hold pointers to.
#pragma once

#include <infiniband/verbs.h>
#undef ibv_query_port
#undef ibv_reg_mr

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "tests/support/fake_verbs/events.hpp"

// A function that clients find.
#define FAKE_VERB extern "C" __attribute__((visibility("default")))

namespace weft::fake_verbs {

inline constexpr std::uint32_t kMaxWr = 4096, kMaxSge = 30, kMaxInline = 512;
inline constexpr std::uint32_t kMaxMessage = 1u << 30;
inline constexpr int kMaxCqe = 65536, kMaxReads = 16, kVectors = 4;
inline constexpr std::size_t kMtu = 4096, kGrhBytes = 40;

struct Device : ibv_device {
  Device(int number, bool has_lids);
  bool knows(const union ibv_gid& gid, std::uint32_t type) const;
  int index;
  bool is_ib;
  enum ibv_atomic_cap atomics = IBV_ATOMIC_HCA;  // with whom its atomics are atomic
  std::uint32_t changing = 0;  // QP whose atomic has read its word, not yet written
  bool is_cut = false;
  std::uint64_t cut_after = 0;  // requests over reliable connections; 0: not
  bool last_takes_effect = false;
  std::size_t doze_at = 0, doze_posts = 0;  // requests until it sleeps; 0: it does not
  std::uint64_t carried = 0;                // of these, ever
  std::uint16_t lid;
  std::vector<ibv_gid_entry> gids;
};

struct Context : ibv_context {
  explicit Context(Device& opened);
  Events<ibv_async_event> events;
  int users = 0;  // here and below: objects that refer to this one
};

struct Pd : ibv_pd {
  int users = 0;
};

struct Mr : ibv_mr {
  std::uint64_t iova;
  unsigned access;
};

struct Ah : ibv_ah {
  ibv_ah_attr attr;
};

struct Cq;
struct Channel : ibv_comp_channel {
  Events<Cq*> events;
  int users = 0;
};

struct Qp;
struct Completion {
  ibv_wc wc;
  Qp* qp;
  std::uint64_t sent;                 // which of the QP's sends; 0: it is a receive,
  std::atomic<std::uint32_t>* taken;  // counted there until it is polled
};

struct Cq : ibv_cq {
  enum class Armed { kNo, kSolicited, kAny };
  std::mutex guard;  // of what follows but `users`; taken after the state's
  std::deque<Completion> done;
  Armed armed = Armed::kNo;
  std::uint64_t events = 0, acknowledged = 0;
  std::condition_variable acknowledges;
  int users = 0;
};

struct Receive {
  std::uint64_t id;
  std::vector<ibv_sge> sges;
};

struct ReceiveQueue {
  const ibv_pd* pd;
  std::uint32_t max_wr, max_sge;
  std::deque<Receive> posted;
  std::atomic<std::uint32_t> taken{0};  // posted, or complete and not polled
};

struct Srq : ibv_srq {
  ReceiveQueue queue;
  int users = 0;
};

struct Send {
  ibv_send_wr wr;  // its list is not valid any more:
  std::vector<ibv_sge> sges;
  std::vector<std::byte> bytes;  // of an inline one
  ibv_ah_attr to;                // of a datagram
  bool is_signaled;
  std::uint64_t number;  // in its QP, from 1
};

struct Qp : ibv_qp {
  Device& device_of() const { return static_cast<Device&>(*context->device); }
  ReceiveQueue& queue() { return srq != nullptr ? static_cast<Srq*>(srq)->queue : receives; }
  Cq& sends_to() const { return static_cast<Cq&>(*send_cq); }
  Cq& receives_to() const { return static_cast<Cq&>(*recv_cq); }
  ibv_qp_state now = IBV_QPS_RESET;  // ibv_qp::state is what the client made it, as everywhere
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  std::deque<Send> sends;
  ReceiveQueue receives;                // where there is no SRQ
  std::uint64_t posted = 0;             // sends, ever
  std::atomic<std::uint64_t> freed{0};  // of these, up to which one slots are free again
  bool is_listed = false;               // in State::busy
  std::size_t asleep = 0;               // calls that must post sends until the device goes on
  std::uint32_t taken = 0;              // packets of the other end's
  std::uint64_t read = 0;               // what the word held that its next send changes
};

template <class Own, class Theirs>
Own& own(Theirs* object) {
  return static_cast<Own&>(*object);
}

}  // namespace weft::fake_verbs
