// PMI-1 for programs that speak it (MPICH and its kin): ranks, one store of keys, one barrier.
//
// The rules only: messages in, answers out. The owner moves the bytes and calls handle().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/pmi/message.hpp"

namespace weft::run {

class Pmi1Server {
 public:
  explicit Pmi1Server(int npes);

  struct Answer {
    int pe;
    pmi::Message message;
  };
  // The answers, each with its PE. A command that it does not understand is refused by name, and
  // nobody waits for it.
  std::vector<Answer> handle(int pe, const pmi::Message& message);

  // The PE has come in by init, and has not sent finalize.
  bool is_inside(int pe) const { return seats_[static_cast<std::size_t>(pe)].inside; }
  // The exit code of a PE that asked for the job's end.
  std::optional<int> abort_code() const { return abort_code_; }

  // As MPICH's own servers have them: clients keep lines in buffers of 1024 bytes and derive the
  // lengths of their values from these limits.
  static constexpr int kMostKey = 256;
  static constexpr int kMostValue = 1024;

 private:
  struct Seat {
    bool inside = false;
    bool at_barrier = false;
  };

  pmi::Message answer_to(Seat& seat, const pmi::Message& message);
  pmi::Message put(const pmi::Message& message);
  pmi::Message get(const pmi::Message& message) const;
  std::vector<Answer> barrier(int pe);

  std::vector<Seat> seats_;
  int at_barrier_ = 0;
  std::map<std::string, std::string> store_;
  std::optional<int> abort_code_;
};

}  // namespace weft::run
