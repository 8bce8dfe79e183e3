// PendingReplies: the answers to other PEs' requests, until they are sent. By one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "host/transport/ofi/message_batch.hpp"

namespace weft::ofi {

class PendingReplies {
 public:
  void know(std::size_t npes) { pending_.resize(npes); }
  // No PE waits for an answer.
  bool none() const { return listed_.empty(); }

  // Together with the one before, if they say the same.
  void add(int to, const Answer& answer, std::string text = {}) {
    auto& [answers, is_listed] = pending_[static_cast<std::size_t>(to)];
    if (!std::exchange(is_listed, true)) listed_.push_back(to);
    if (!answers.empty() && continues(answers.back().answer, answer))
      ++answers.back().answer.count;
    else
      answers.push_back({answer, std::move(text)});
  }
  // Adds as many as fit to the batch; how many.
  std::size_t copy(int to, MessageBatch& batch, std::size_t room) const {
    std::size_t copied = 0;
    for (const auto& [answer, text] : pending_[static_cast<std::size_t>(to)].answers) {
      if (batch.size() + answer.size() > room) break;
      batch.add(answer, text);
      ++copied;
    }
    return copied;
  }
  void drop(int to, std::size_t count) {
    auto& answers = pending_[static_cast<std::size_t>(to)].answers;
    answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // `send_some(pe)` sends some of a PE's, or returns false: not now.
  template <class Send>
  void send_all(Send send_some) {
    std::erase_if(listed_, [&](int pe) {
      auto& [answers, is_listed] = pending_[static_cast<std::size_t>(pe)];
      while (!answers.empty())
        if (!send_some(pe)) return false;
      is_listed = false;
      return true;
    });
  }

 private:
  struct Reply {
    Answer answer;
    std::string text;
  };
  struct Pending {
    std::deque<Reply> answers;
    bool is_listed = false;
  };

  static bool continues(const Answer& last, const Answer& next) {
    const bool plain = last.code + last.has_old + next.code + next.has_old == 0;
    return plain && last.lane == next.lane && last.ticket + last.count == next.ticket &&
           last.count < UINT16_MAX;
  }

  std::vector<Pending> pending_;  // per PE
  std::vector<int> listed_;       // who is owed some, or was until a batch took them along
};

}  // namespace weft::ofi
