// MessageBatch: a message that is being written. Requests come one behind the other as long as they
// fit, and answers behind them when it is sent.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/transport/ofi/messages.hpp"

namespace weft::ofi {

class MessageBatch {
 public:
  // In memory of kMessageBytes bytes.
  explicit MessageBatch(std::byte* memory) : memory_(memory) {}

  std::byte* memory() const { return memory_; }
  std::size_t size() const { return size_; }
  int requests() const { return header_.requests; }
  int answers() const { return header_.answers; }
  bool has_room(std::size_t bytes) const { return size_ + bytes <= kMessageBytes; }

  void clear() {
    header_ = {};
    size_ = sizeof(Header);
    answer_bytes_ = 0;
  }
  void add(const Request& request, const void* payload) {
    std::memcpy(memory_ + size_, &request, sizeof request);
    if (request.payload() != 0)
      std::memcpy(memory_ + size_ + sizeof request, payload, request.payload());
    size_ += request.size();
    ++header_.requests;
  }
  void add(const Answer& answer, std::string_view text) {
    std::memcpy(memory_ + size_, &answer, sizeof answer);
    std::memcpy(memory_ + size_ + sizeof answer, text.data(), text.size());
    size_ += answer.size();
    answer_bytes_ += answer.size();
    ++header_.answers;
  }
  // The batch was not sent: its answers wait for another.
  void take_answers_back() {
    size_ -= std::exchange(answer_bytes_, 0);
    header_.answers = 0;
  }
  void address(std::uint64_t key, int from) {
    header_.key = key;
    header_.from = static_cast<std::uint32_t>(from);
    std::memcpy(memory_, &header_, sizeof header_);
  }

 private:
  std::byte* memory_;
  std::size_t size_ = sizeof(Header);
  std::size_t answer_bytes_ = 0;
  Header header_;
};

}  // namespace weft::ofi
