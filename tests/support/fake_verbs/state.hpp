// Declarations that the parts of the fake library share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/fake_verbs/objects.hpp"

namespace weft::fake_verbs {

struct State {
  State();
  std::mutex mutex;  // of everything but completion queues and failures
  std::condition_variable changed;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Context*> contexts;
  std::map<std::uint32_t, Qp*> qps;
  std::map<std::uint32_t, Mr*> keys;  // of both kinds
  std::vector<Qp*> busy;              // those that may have something to do
  std::uint64_t lost_each = 0, datagrams = 0, atomics = 0;
  FakeVerbsLive live{};

  struct Failure {
    int calls_left, error;
  };
  std::mutex failures_mutex;
  std::multimap<std::string, Failure, std::less<>> failures;
  std::atomic<std::size_t> failures_left{0};
};
State& state();

// The error that this call of the function shall fail with; 0: none.
int failing(const char* function);
std::nullptr_t refuse(int error);  // sets errno

// From here on, under the state's mutex.

std::uint32_t random_number(unsigned bits);

// memory.cpp
struct Span {
  std::byte* base;
  std::size_t bytes;
};
using Spans = std::vector<Span>;
std::size_t bytes_of(const Spans& spans);
// Nothing if one of them is not memory that may be used so.
std::optional<Spans> local_spans(const ibv_pd* pd, const std::vector<ibv_sge>& sges,
                                 unsigned access);
std::optional<Span> remote_span(const ibv_pd* pd, std::uint32_t rkey, std::uint64_t address,
                                std::size_t bytes, unsigned access);
void move(const Spans& to, const Spans& from);  // as much as there is

// completions.cpp
void complete_send(Qp& qp, const Send& work, ibv_wc_status status, std::size_t bytes);
void complete_receive(Qp& qp, ibv_wc wc, bool is_solicited);
void forget_completions(const Qp& qp);

// receives.cpp
// Puts a message where the next receive says; `wc` is what its completion shall say. Returns its
// status; an error is one of the receiver.
ibv_wc_status deliver(Qp& qp, const Send& work, const Spans& message, ibv_wc wc);

// rc.cpp and ud.cpp
struct Result {
  ibv_wc_status status;
  std::size_t bytes;
};
bool waits_for_receive(const Qp& qp);
bool waits_for_device(const Qp& qp);
bool reads_word(Qp& qp);
Result carry_out_rc(Qp& qp, Send& work);
Result carry_out_ud(Qp& qp, Send& work);
// Nothing: of local memory that is not.
std::optional<Spans> payload(const Qp& qp, Send& work);
bool is_valid(const Device& device, const ibv_ah_attr& address);
bool names(const Device& from, const ibv_ah_attr& address, const Device& device);

// control.cpp
void set_cut(Device& device, bool is_cut);

// wire.cpp
void start_wire();
void wake_wire();
void enlist(Qp& qp);  // it has something to do
void unlist(Qp& qp);
void fail(Qp& qp);  // its queues come back

}  // namespace weft::fake_verbs
