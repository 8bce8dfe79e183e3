// A failure in a kernel is reported, comes to an end, and leaves everything usable.
#include <cstring>
#include <utility>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kSoon = 20'000'000;  // ns: long enough to be sure of, short enough to wait

// One thread asks the context of a PE, and the host gets the answer.
template <class Answer, class Body>
struct Ask {
  DeviceContext handle;
  Body body;
  Answer* answer;
  WEFT_DEVICE void operator()() const { *answer = body(dev::Context(handle)); }
};
template <class Body>
struct Do {
  DeviceContext handle;
  Body body;
  WEFT_DEVICE void operator()() const { body(dev::Context(handle)); }
};

// A job whose kernels are run one after the other.
class Job {
 public:
  DeviceJob& make(JobOptions options = {}) {
    job_ = std::make_unique<DeviceJob>(options);
    return *job_;
  }
  // Nothing is mapped and no proxy runs, until let_host_come().
  void make_without_host(std::size_t ring_capacity) {
    JobOptions options;
    options.mapped = false;
    options.proxy = false;
    options.ring_capacity = ring_capacity;
    options.deadline_ns = kSoon / 10;
    make(options);
  }
  void let_host_come() {
    job_->start_proxies();
    job_->state(0).deadline_ns = 60'000'000'000;
  }
  DeviceJob* operator->() { return job_.get(); }

  // `body` by one thread of PE 0, or of another.
  template <class Body>
  void run(Body body, int pe = 0) {
    launch(pe, Do<Body>{job_->handle(pe), body});
  }
  template <class Answer, class Body>
  Answer ask(Body body, int pe = 0) {
    SharedVector<Answer> answer(1);
    launch(pe, Ask<Answer, Body>{job_->handle(pe), body, answer.data()});
    return answer[0];
  }

  // The one fault that PE 0 left.
  FaultRecord fault() {
    FaultRecord record;
    EXPECT_TRUE(job_->take_fault(0, &record)) << "no fault";
    FaultRecord another;
    EXPECT_FALSE(job_->take_fault(0, &another)) << another.where;
    return record;
  }
  bool has_fault() {
    FaultRecord record;
    return job_->take_fault(0, &record);
  }
  template <class T>
  T* symmetric(std::size_t count) {
    return job_->at<T>(0, job_->allocate<T>(count));
  }
  // Where PE 0's `address` lies in every heap.
  std::uint64_t offset_of(const void* address) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - job_->heap(0));
  }

 private:
  template <class Kernel>
  void launch(int pe, const Kernel& kernel) {
    enter_pe(pe);
    EXPECT_OK(dev::launch({1, 1}, kernel));
    EXPECT_OK(dev::synchronize());
    enter_pe(0);
  }
  std::unique_ptr<DeviceJob> job_;
};

// nvcc wants a kernel that is a lambda in a function that anybody may call, which a test's body is
// not.
#define FAULT_TEST(name)  \
  void name(Job& job);    \
  TEST(FaultTest, name) { \
    Job job;              \
    name(job);            \
  }                       \
  void name(Job& job)

#define ACCEPTED(call)                                                 \
  job.run([=] WEFT_KERNEL(const dev::Context& ctx) { (void)(call); }); \
  EXPECT_FALSE(job.has_fault())
#define REFUSED(call, expected, text, other)                             \
  do {                                                                   \
    job.run([=] WEFT_KERNEL(const dev::Context& ctx) { (void)(call); }); \
    record = job.fault();                                                \
    EXPECT_EQ(code_of(record), FaultCode::expected) << #call;            \
    EXPECT_STREQ(record.where, text) << #call;                           \
    EXPECT_EQ(record.pe, other) << #call;                                \
  } while (false)

FaultCode code_of(const FaultRecord& record) { return static_cast<FaultCode>(record.code); }

struct WaitForEver {
  DeviceContext handle;
  const int* word;
  int* answers;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    answers[dev::thread_rank()] = ctx.wait_until(dev::Block{}, word, Cmp::kGe, -7) ? 1 : 0;
  }
};

FAULT_TEST(AWaitThatTimesOutTellsEverything) {
  JobOptions options;
  options.deadline_ns = kSoon;
  job.make(options);
  int* word = job.symmetric<int>(3) + 1;
  *word = -12;
  SharedVector<int> answers(kWarp + 2, -1);
  ASSERT_OK(dev::launch({1, kWarp + 2}, WaitForEver{job->handle(0), word, answers.data()}));
  ASSERT_OK(dev::synchronize());
  for (int answer : answers) EXPECT_EQ(answer, 0);
  const FaultRecord record = job.fault();
  EXPECT_EQ(code_of(record), FaultCode::kWaitTimeout);
  EXPECT_STREQ(record.where, "wait_until");
  EXPECT_EQ(job->at<int>(0, record.offset), word);
  EXPECT_EQ(static_cast<std::int64_t>(record.seen), -12);
  EXPECT_EQ(static_cast<std::int64_t>(record.wanted), -7);
  EXPECT_EQ(record.type, WordType::kSigned);
  EXPECT_EQ(static_cast<Cmp>(record.cmp), Cmp::kGe);
  EXPECT_GE(record.waited_ns, kSoon);
  EXPECT_EQ(record.block, 0u);
  EXPECT_EQ(record.thread, 0u);
}

FAULT_TEST(EveryFormOfWaitEndsAtItsDeadline) {
  JobOptions options;
  options.deadline_ns = kSoon / 10;
  job.make(options);
  auto* words = job.symmetric<double>(4);
  const SharedVector<double> kept_values = {1, 2, 3, 4};
  const SharedVector<int> kept_out = {1, 0, 0, 1};
  SharedVector<std::size_t> kept_indices(4);
  const double* values = kept_values.data();
  const int* out = kept_out.data();
  std::size_t* indices = kept_indices.data();
  EXPECT_FALSE(job.ask<int>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_all(dev::Thread{}, words, 4, nullptr, Cmp::kNe, 0.0);
  }));
  EXPECT_STREQ(job.fault().where, "wait_until_all");
  EXPECT_FALSE(job.ask<int>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_all_vector(dev::Thread{}, words, 4, out, Cmp::kEq, values);
  }));
  FaultRecord record = job.fault();
  EXPECT_STREQ(record.where, "wait_until_all_vector");
  EXPECT_EQ(job->at<double>(0, record.offset), words + 1);  // the first that takes part
  double wanted;
  std::memcpy(&wanted, &record.wanted, sizeof(wanted));
  EXPECT_EQ(wanted, 2.0);
  EXPECT_EQ(record.type, WordType::kDouble);
  std::size_t answer = job.ask<std::size_t>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_any(dev::Thread{}, words, 4, nullptr, Cmp::kNe, 0.0);
  });
  EXPECT_EQ(answer, ~std::size_t{0});
  EXPECT_STREQ(job.fault().where, "wait_until_any");
  answer = job.ask<std::size_t>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_any_vector(dev::Thread{}, words, 4, out, Cmp::kEq, values);
  });
  EXPECT_EQ(answer, ~std::size_t{0});
  EXPECT_STREQ(job.fault().where, "wait_until_any_vector");
  answer = job.ask<std::size_t>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_some(dev::Thread{}, words, 4, indices, nullptr, Cmp::kNe, 0.0);
  });
  EXPECT_EQ(answer, 0u);
  EXPECT_STREQ(job.fault().where, "wait_until_some");
  answer = job.ask<std::size_t>([=] WEFT_KERNEL(const dev::Context& ctx) {
    return ctx.wait_until_some_vector(dev::Thread{}, words, 4, indices, out, Cmp::kEq, values);
  });
  EXPECT_EQ(answer, 0u);
  EXPECT_STREQ(job.fault().where, "wait_until_some_vector");
}

FAULT_TEST(OnlyTheFirstFaultIsKeptUntilItIsTaken) {
  JobOptions options;
  options.deadline_ns = 1;
  job.make(options);
  auto* words = job.symmetric<std::uint64_t>(2);
  auto wait_for = [&](std::uint64_t value) {
    job.run([=] WEFT_KERNEL(const dev::Context& ctx) {
      ctx.wait_until(dev::Thread{}, words, Cmp::kEq, value);
    });
  };
  wait_for(1);
  wait_for(2);
  EXPECT_EQ(job.fault().wanted, 1u);
  wait_for(2);
  EXPECT_EQ(job.fault().wanted, 2u);
}

FAULT_TEST(ALastWriterIsRemembered) {
  JobOptions options;
  options.check = true;
  options.npes = 3;
  job.make(options);
  auto* words = job.symmetric<std::uint64_t>(4);
  const std::uint64_t first = job.offset_of(words);
  const std::uint64_t journal = job->state(1).journal_offset;
  auto expect = [&](std::vector<int> writers) {
    for (std::size_t i = 0; i < writers.size(); ++i) {
      const std::uint64_t offset = first + i * sizeof(std::uint64_t);
      const int writer = job.ask<int>(
          [=] WEFT_KERNEL(const dev::Context& ctx) {
            return dev::journal_writer(ctx.handle().heap, journal, offset);
          },
          1);
      EXPECT_EQ(writer, writers[i]) << "word " << i;
    }
  };
  expect({-1, -1, -1, -1});
  job.run([=] WEFT_KERNEL(const dev::Context& ctx) { ctx.signal(set(words, 1), 1); });
  auto* theirs = job->at<std::uint64_t>(2, first);
  job.run(
      [=] WEFT_KERNEL(const dev::Context& two) {
        two.put(dev::Thread{}, theirs + 3, theirs + 3, 0, 1, add(theirs + 1, 1));
        two.atomic_add(theirs + 2, std::uint64_t{1}, 1);
      },
      2);
  expect({0, 2, 2, -1});
  job.run(
      [=] WEFT_KERNEL(const dev::Context& two) {
        two.signal(set(theirs, 2), 1);
        two.p(theirs + 3, std::uint64_t{4}, 1);
      },
      2);
  expect({2, 2, 2, 2});
}

FAULT_TEST(WrongArgumentsAreRefusedAndNamed) {
  JobOptions options;
  options.check = true;
  job.make(options);
  auto* words = job.symmetric<std::uint64_t>(8);
  SharedVector<std::uint64_t> kept = {1, 2, 3, 4, 5, 6, 7, 8};
  std::uint64_t* local = kept.data();
  FaultRecord record;
  const dev::Thread thread;

  REFUSED(ctx.put(thread, words, local, 1, 2), kBadPe, "put", 2);
  REFUSED(ctx.get(thread, local, words, 1, -1), kBadPe, "get", -1);
  REFUSED(ctx.atomic_inc(words, 1000), kBadPe, "atomic_add", 1000);
  REFUSED(ctx.signal(set(words, 1), 7), kBadPe, "signal", 7);
  REFUSED(ctx.fence_pe(2), kBadPe, "fence_pe", 2);
  REFUSED(ctx.quiet_pe(-3), kBadPe, "quiet_pe", -3);

  REFUSED(ctx.put(thread, local, words, 1, 1), kBadRange, "put", 1);  // the wrong way round
  auto* nowhere = static_cast<std::uint64_t*>(nullptr);
  REFUSED(ctx.put_nbi(thread, nowhere, local, 1, 1), kBadRange, "put", 1);
  REFUSED(local[7] = ctx.g(local, 1), kBadRange, "g", 1);
  EXPECT_EQ(kept[7], 0u);
  REFUSED(ctx.put(thread, words, local, 1, 1, set(local, 1)), kBadRange, "put", 1);
  auto* last = reinterpret_cast<std::uint64_t*>(job->heap(0) + job->options().heap_bytes) - 1;
  ACCEPTED(ctx.p(last, std::uint64_t{5}, 1));
  REFUSED(ctx.put(thread, last, local, 2, 1), kBadRange, "put", 1);
  EXPECT_EQ(record.wanted, 16u);
  ACCEPTED(ctx.iput(thread, last - 2, local, 2, 1, 2, 1));
  REFUSED(ctx.iput(thread, last - 2, local, 3, 1, 2, 1), kBadRange, "iput", 1);
  REFUSED(ctx.iput(thread, words, local, 0, 1, 2, 1), kBadRange, "iput", 1);
  REFUSED(ctx.iget(thread, local, words, 1, -1, 2, 1), kBadRange, "iget", 1);
  REFUSED(local[0] = ctx.wait_until(thread, local, Cmp::kEq, std::uint64_t{1}), kBadRange,
          "wait_until", 0);
  EXPECT_EQ(kept[0], 0u);
  REFUSED(local[1] = ctx.test(local + 1, Cmp::kEq, std::uint64_t{2}), kBadRange, "test", 0);
  EXPECT_EQ(kept[1], 0u);

  auto* odd = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(words) + 4);
  REFUSED(ctx.atomic_set(odd, std::uint64_t{1}, 1), kMisaligned, "atomic_set", 1);
  REFUSED(ctx.signal(add(odd, 1), 1), kMisaligned, "signal", 1);

  for (int i = 0; i < 8; ++i) EXPECT_EQ(words[i], 0u);
}

FAULT_TEST(ACountThatOverflowsIsRefusedAlways) {
  job.make();
  auto* words = job.symmetric<std::uint64_t>(1);
  SharedVector<std::uint64_t> kept = {9};
  std::uint64_t* local = kept.data();
  const std::size_t huge = ~std::size_t{0} / 8 + 2;  // 8 bytes each: wraps to 8
  const dev::Thread thread;
  FaultRecord record;
  REFUSED(ctx.put(thread, words, local, huge, 1), kBadRange, "put", 1);
  REFUSED(ctx.get_nbi(thread, local, words, huge, 1), kBadRange, "get", 1);
  REFUSED(ctx.iput(thread, words, local, 1, 1, huge, 1), kBadRange, "iput", 1);
  REFUSED(ctx.iget(thread, local, words, 1, PTRDIFF_MAX, 3, 1), kBadRange, "iget", 1);
  EXPECT_EQ(kept[0], 9u);
  REFUSED(local[0] = ctx.wait_until_all(thread, words, huge, nullptr, Cmp::kEq, std::uint64_t{0}),
          kBadRange, "wait_until_all", 0);
  EXPECT_EQ(kept[0], 0u);
  EXPECT_EQ(*job->at<std::uint64_t>(1, job.offset_of(words)), 0u);
}

FAULT_TEST(ZeroSizesAreFineEverywhere) {
  for (const auto& [mapped, check] : {std::pair{true, true}, {true, false}, {false, true}}) {
    JobOptions options;
    options.mapped = mapped;
    options.check = check;
    job.make(options);
    auto* word = job.symmetric<std::uint64_t>(1);
    SharedVector<std::uint64_t> kept = {9};
    std::uint64_t* local = kept.data();
    job.run([=] WEFT_KERNEL(const dev::Context& ctx) {
      const dev::Thread thread;
      ctx.put(thread, word, local, 0, 1);
      ctx.put_nbi(thread, word, local, 0, 1);
      ctx.get(thread, local, word, 0, 1);
      ctx.get_nbi(thread, local, word, 0, 1);
      ctx.iput(thread, word, local, 1, 1, 0, 1);
      ctx.iget(thread, local, word, 1, 1, 0, 1);
      for (int pe = 0; pe < 2; ++pe)
        ctx.put(thread, static_cast<int*>(nullptr), static_cast<const int*>(nullptr), 0, pe,
                add(word, 3));
      ctx.signal(none(), 1);
      ctx.quiet(thread);
    });
    EXPECT_FALSE(job.has_fault());
    EXPECT_EQ(kept[0], 9u);
    for (int pe = 0; pe < 2; ++pe) EXPECT_EQ(*job->at<std::uint64_t>(pe, job.offset_of(word)), 3u);
  }
}

// The host does not come: a full ring, and what waits for completion, end at the deadline. When it
// comes at last, nothing that was accepted is lost, and the ring works on.
FAULT_TEST(AFullRingIsReportedAndRecovers) {
  job.make_without_host(4);
  auto* sum = job.symmetric<std::uint64_t>(2);
  job.run([=] WEFT_KERNEL(const dev::Context& ctx) {
    for (int i = 0; i < 4; ++i) ctx.signal(add(sum, 1), 1);
  });
  EXPECT_FALSE(job.has_fault());
  FaultRecord record;
  for (int i = 0; i < 3; ++i) REFUSED(ctx.signal(add(sum, 100), 1), kRingTimeout, "signal", 1);
  job.run([=] WEFT_KERNEL(const dev::Context& ctx) { ctx.quiet(dev::Thread{}); });
  EXPECT_STREQ(job.fault().where, "quiet");

  job.let_host_come();
  const auto total = job.ask<std::uint64_t>([=] WEFT_KERNEL(const dev::Context& ctx) {
    for (int i = 0; i < 20; ++i) ctx.signal(add(sum, 1), 1);
    ctx.quiet(dev::Thread{});
    return ctx.g(sum, 1);
  });
  EXPECT_EQ(total, 24u);
  EXPECT_FALSE(job.has_fault());
}

FAULT_TEST(AResultThatComesTooLateHarmsNobody) {
  job.make_without_host(2);
  auto* words = job.symmetric<std::uint64_t>(2);
  auto draw = [&] {
    return job.ask<std::uint64_t>(
        [=] WEFT_KERNEL(const dev::Context& ctx) { return ctx.atomic_fetch_inc(words, 1); });
  };
  auto get = [&] {
    return job.ask<std::uint64_t>(
        [=] WEFT_KERNEL(const dev::Context& ctx) { return ctx.g(words + 1, 1); });
  };
  EXPECT_EQ(draw(), 0u);
  EXPECT_STREQ(job.fault().where, "atomic_fetch_add");
  EXPECT_EQ(get(), 0u);
  EXPECT_STREQ(job.fault().where, "g");

  job.let_host_come();
  for (std::uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(draw(), i + 1);
    job.run([=] WEFT_KERNEL(const dev::Context& ctx) {
      ctx.p(words + 1, i + 50, 1);
      ctx.quiet(dev::Thread{});
    });
    EXPECT_EQ(get(), i + 50);
  }
  EXPECT_FALSE(job.has_fault());
}

}  // namespace
}  // namespace weft::test
