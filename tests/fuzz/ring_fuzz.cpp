// Both ends of the device-to-host ring against a queue: any records, any order of pushes and pops,
// any point of its life at which it is looked at.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include <weft/dev/ring.hpp>

namespace {

using namespace weft;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "ring: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t bytes) : data_(data), left_(bytes) {}
  bool empty() const { return left_ == 0; }
  // Zeroes once the input is used up.
  template <class T>
  T take() {
    T value{};
    const std::size_t bytes = left_ < sizeof(T) ? left_ : sizeof(T);
    if (bytes != 0) std::memcpy(static_cast<void*>(&value), data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// A ring that has already seen `base` records, whose slots still hold what those left there.
struct Ring {
  Ring(std::uint64_t capacity, std::uint64_t base, std::uint64_t junk)
      : slots(capacity), results(capacity), busy(capacity), counters(3, base) {
    view.slots = slots.data();
    view.capacity = capacity;
    tickets.next = tickets.claimed = tickets.counted = base;
    tickets.credit = capacity;
    view.tickets = &tickets;
    view.consumed = &counters[0];
    view.completed = &counters[1];
    view.wanted = &counters[2];
    view.results = results.data();
    view.results_busy = busy.data();
    for (std::uint64_t i = 1; i <= capacity && i <= base; ++i) {
      Op old;
      old.bytes = old.local = old.value = junk;
      old.kind = static_cast<OpKind>(junk);
      dev::ring::publish(view, base - i, old);
    }
  }
  std::vector<Op> slots;
  std::vector<std::uint64_t> results;
  std::vector<std::uint32_t> busy;
  std::vector<std::uint64_t> counters;
  RingTickets tickets;
  RingView view;
};

// A whole record from few bytes, so that short inputs fill a ring.
Op take_op(Input& input) {
  auto state = input.take<std::uint64_t>();
  std::uint64_t words[8];
  for (std::uint64_t& word : words) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    word = state ^ (state >> 29);
  }
  words[7] ^= std::uint64_t{input.take<std::uint8_t>()} << 56;  // any flags
  Op op;
  std::memcpy(static_cast<void*>(&op), words, sizeof(op));
  return op;
}

void push(Ring& ring, std::deque<Op>& model, const Op& op) {
  dev::ring::PushAttempt attempt;
  const bool full = model.size() == ring.view.capacity;
  const auto publish = [&] {
    return dev::ring::try_publish(ring.view, attempt, op, dev::ring::ResultUse::kNone, 0);
  };
  const bool pushed = publish() || publish();  // who was refused looks for more credit
  require(pushed == !full, full ? "took a record beyond its capacity" : "refused with room left");
  if (!pushed) return;
  require(attempt.ticket == ring.tickets.next - 1, "gave another ticket than the next one");
  model.push_back(op);
  model.back().flags &= static_cast<std::uint8_t>(~kOpLap);  // the ring's own bit
}

void pop(Ring& ring, std::deque<Op>& model, std::uint64_t ticket) {
  Op op;
  const bool popped = dev::ring::pop(ring.view, ticket, op);
  require(popped == !model.empty(), popped ? "gave a record that nobody pushed" : "lost a record");
  if (!popped) return;
  require(std::memcmp(&op, &model.front(), sizeof(Op)) == 0, "changed a record");
  model.pop_front();
  dev::ring::free_slots(ring.view, ticket + 1);
  dev::ring::complete(ring.view, ticket + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Input input(data, bytes);
  const std::uint64_t capacity = std::uint64_t{1} << (input.take<std::uint8_t>() % 5);
  // Any age, also one at which the counters wrap.
  const auto base = input.take<std::uint64_t>();
  Ring ring(capacity, base, input.take<std::uint64_t>());
  std::deque<Op> model;
  std::uint64_t next = base;
  while (!input.empty()) {
    const auto command = input.take<std::uint8_t>();
    if (command % 2 == 0) {
      push(ring, model, take_op(input));
    } else {
      const bool had = !model.empty();
      pop(ring, model, next);
      if (had) ++next;
    }
  }
  while (!model.empty()) pop(ring, model, next++);
  pop(ring, model, next);  // and nothing else
  return 0;
}
