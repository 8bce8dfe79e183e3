// Endpoint: the one by which a PE speaks to all others, and what comes in by it.
//
// Any thread polls: what others ask for is executed under the fabric's lock, in the order in which
// it came; what became of my own ops is handed out, and reported to their lanes when the lock is
// free again.
//
// Orders. A request is executed by whoever polls, with acquire and release, and the bytes that the
// provider brought before it are in memory by then: it brought them in an earlier call under this
// lock, or by itself before the request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/transport/network/memory.hpp"
#include "host/transport/network/network.hpp"
#include "host/transport/network/staging.hpp"
#include "host/transport/ofi/pending_replies.hpp"
#include "host/transport/ofi/fabric.hpp"
#include "host/transport/ofi/message_batch.hpp"

namespace weft::ofi {

using network::Staging;

// Bytes between my memory and a peer's, at most Caps::max_bytes.
struct Transfer {
  bool reads = false;
  int pe = 0;
  std::uint64_t remote = 0;  // as the peer names it
  std::uint64_t key = 0;
  std::byte* local = nullptr;
  std::uint64_t local_key = 0;
  std::uint64_t bytes = 0;
  Staging::Block block = {};      // of `local`, if it is staged
  std::byte* bring_to = nullptr;  // where a staged get's bytes belong
};

// The outcome of something of mine.
struct Event {
  enum class Kind { kTransfer, kAnswer, kLost };
  Kind kind = Kind::kTransfer;
  std::uint32_t lane = 0;
  std::uint64_t flight = 0;
  Transfer transfer;    // that is over, well or not
  int pe = 0;           // that is lost, since something could not be sent there
  std::string failure;  // why not, or why; else empty. In the words of who answers
  Answer answer;
};

class Endpoint {
 public:
  // With receives posted for what comes in.
  static Result<std::unique_ptr<Endpoint>> open(const Options& options, bool one_host);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Fabric& fabric() const { return *fabric_; }

  // Executes what others ask for.
  using Execute = std::function<Status(const Op& op, int from, int staging_slot)>;
  Status start(int pe, const std::vector<network::Peer>& peers, Execute execute);

  // By any thread. kBusy: not now.
  Status post(const Transfer& transfer, std::uint32_t lane, std::uint64_t flight);
  // A batch to be written, and then sent together with the pending replies to that PE. A batch that
  // send() did not take, or that is not to be sent, stays the caller's.
  Result<MessageBatch*> take_batch();
  Status send(int pe, MessageBatch& batch);
  void give_batch(MessageBatch& batch);
  // Takes what has happened; false if another thread is looking, or there was nothing.
  bool poll(std::vector<Event>& events);
  // When a PE last gave a sign of life, as now_ns().
  std::uint64_t heard(int pe) const {
    return heard_[static_cast<std::size_t>(pe)].load(std::memory_order_relaxed);
  }
  // When nobody else polls any more, and before it is closed. The tcp provider must not be closed
  // in the middle of an answer to a read: it reports that read twice, the second time without a
  // context, which rxm follows into nothing (libfabric 1.17).
  void finish_reads();
  // Nothing touches what was posted any more. With reads that did not end it stays open instead.
  void close();
  // A file to sleep on until there is something to poll; -1: there is something, or no such file.
  int file_to_sleep_on();

 private:
  // The handle of an operation of libfabric: its own space first.
  struct Mark {
    fi_context2 space{};
    enum class Kind { kReceive, kTransfer, kMessage } kind = Kind::kReceive;
  };
  struct Receive : Mark {
    std::byte* bytes = nullptr;
  };
  struct Posted : Mark {
    Transfer transfer;
    std::uint32_t lane = 0;
    std::uint64_t flight = 0;
  };
  struct Sent : Mark, MessageBatch {
    Sent(std::byte* memory, std::uint64_t local_key)
        : Mark{.kind = Kind::kMessage}, MessageBatch(memory), key(local_key) {}
    std::uint64_t key;
    int pe = 0;
  };
  static constexpr std::size_t kReceives = 256;    // for what comes in
  static constexpr std::size_t kBatchesMade = 32;  // batches that are made at once
  static constexpr std::size_t kCompletions = 16;  // completions that are read at once
  static constexpr std::size_t kMostUnanswered = 64;
  static constexpr int kReads = 8;  // and how often before the lock is released
  static constexpr std::uint64_t kMostFinishNs = 2'000'000'000;

  explicit Endpoint(std::unique_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  Status make_receives();
  Status post_receive(Receive& receive);
  Posted& take_mark();

  // False: a stranger's.
  bool take(const fi_cq_msg_entry& done, std::vector<Event>& events);
  void take_error(std::vector<Event>& events);
  bool take_message(const std::byte* bytes, std::size_t size, std::vector<Event>& events);
  void serve(int from, const Request& request, const std::byte* payload);
  void take_answer(const Answer& answer, std::string text, std::vector<Event>& events);
  void give_back(Posted& posted, std::string failure, std::vector<Event>& events);
  bool answer_some(int pe);
  Status make_batches();
  void hear(int pe);
  Status failed(std::string_view what, int pe, long result) const;

  const std::unique_ptr<Fabric> fabric_;
  // Under its lock, but for what is atomic:
  network::Buffer buffer_;            // of the receives
  std::vector<fi_addr_t> addresses_;  // per PE
  std::vector<std::uint64_t> keys_;   // that each PE believes
  int pe_ = 0;
  Execute execute_;
  std::vector<Receive> receives_;
  std::deque<Receive*> unposted_;  // could not be posted again yet
  std::deque<Posted> marks_;
  std::vector<Posted*> free_marks_;
  std::size_t reads_ = 0;  // under way
  PendingReplies pending_;
  std::size_t served_ = 0, answered_ = 0;  // requests; and as many when answers were sent
  // Answers lately went along with a batch, or would have: then they wait for the next one.
  bool go_along_ = true;
  bool went_alone_ = false;  // the last ones, and no poll has found nothing since
  std::vector<network::Buffer> batch_memory_;
  std::deque<Sent> batches_;
  std::vector<Sent*> free_batches_;
  std::vector<std::atomic<std::uint64_t>> heard_;
};

}  // namespace weft::ofi
