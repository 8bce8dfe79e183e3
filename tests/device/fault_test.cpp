// What goes wrong in kernels is said, ends, and leaves everything usable.
#include <cstring>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kSoon = 20'000'000;  // ns: long enough to be sure of, short enough to wait

class FaultTest : public ::testing::Test {
 protected:
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
  dev::Context context(int pe = 0) { return dev::Context(job_->handle(pe)); }
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

  std::unique_ptr<DeviceJob> job_;
};

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

TEST_F(FaultTest, AWaitThatTimesOutTellsEverything) {
  JobOptions options;
  options.deadline_ns = kSoon;
  make(options);
  int* word = symmetric<int>(3) + 1;
  *word = -12;
  std::vector<int> answers(6, -1);
  ASSERT_OK(dev::launch({1, 6}, WaitForEver{job_->handle(0), word, answers.data()}));
  ASSERT_OK(dev::synchronize());
  for (int answer : answers) EXPECT_EQ(answer, 0);
  const FaultRecord record = fault();
  EXPECT_EQ(code_of(record), FaultCode::kWaitTimeout);
  EXPECT_STREQ(record.where, "wait_until");
  EXPECT_EQ(job_->at<int>(0, record.offset), word);
  EXPECT_EQ(static_cast<std::int64_t>(record.seen), -12);
  EXPECT_EQ(static_cast<std::int64_t>(record.wanted), -7);
  EXPECT_EQ(record.type, WordType::kSigned);
  EXPECT_EQ(static_cast<Cmp>(record.cmp), Cmp::kGe);
  EXPECT_GE(record.waited_ns, kSoon);
  EXPECT_EQ(record.block, 0u);
  EXPECT_EQ(record.thread, 0u);
}

TEST_F(FaultTest, EveryFormOfWaitEndsAtItsDeadline) {
  JobOptions options;
  options.deadline_ns = kSoon / 10;
  make(options);
  auto* words = symmetric<double>(4);
  const double values[4] = {1, 2, 3, 4};
  const int out[4] = {1, 0, 0, 1};
  std::size_t indices[4];
  const dev::Context ctx = context();
  const dev::Thread thread;
  EXPECT_FALSE(ctx.wait_until_all(thread, words, 4, nullptr, Cmp::kNe, 0.0));
  EXPECT_STREQ(fault().where, "wait_until_all");
  EXPECT_FALSE(ctx.wait_until_all_vector(thread, words, 4, out, Cmp::kEq, values));
  FaultRecord record = fault();
  EXPECT_STREQ(record.where, "wait_until_all_vector");
  EXPECT_EQ(job_->at<double>(0, record.offset), words + 1);  // the first that takes part
  double wanted;
  std::memcpy(&wanted, &record.wanted, sizeof(wanted));
  EXPECT_EQ(wanted, 2.0);
  EXPECT_EQ(record.type, WordType::kDouble);
  EXPECT_EQ(ctx.wait_until_any(thread, words, 4, nullptr, Cmp::kNe, 0.0), ~std::size_t{0});
  EXPECT_STREQ(fault().where, "wait_until_any");
  EXPECT_EQ(ctx.wait_until_any_vector(thread, words, 4, out, Cmp::kEq, values), ~std::size_t{0});
  EXPECT_STREQ(fault().where, "wait_until_any_vector");
  EXPECT_EQ(ctx.wait_until_some(thread, words, 4, indices, nullptr, Cmp::kNe, 0.0), 0u);
  EXPECT_STREQ(fault().where, "wait_until_some");
  EXPECT_EQ(ctx.wait_until_some_vector(thread, words, 4, indices, out, Cmp::kEq, values), 0u);
  EXPECT_STREQ(fault().where, "wait_until_some_vector");
}

TEST_F(FaultTest, OnlyTheFirstFaultIsKeptUntilItIsTaken) {
  JobOptions options;
  options.deadline_ns = 1;
  make(options);
  auto* words = symmetric<std::uint64_t>(2);
  const dev::Context ctx = context();
  EXPECT_FALSE(ctx.wait_until(dev::Thread{}, words, Cmp::kEq, std::uint64_t{1}));
  EXPECT_FALSE(ctx.wait_until(dev::Thread{}, words + 1, Cmp::kEq, std::uint64_t{2}));
  EXPECT_EQ(fault().wanted, 1u);
  EXPECT_FALSE(ctx.wait_until(dev::Thread{}, words + 1, Cmp::kEq, std::uint64_t{2}));
  EXPECT_EQ(fault().wanted, 2u);
}

TEST_F(FaultTest, ALastWriterIsRemembered) {
  JobOptions options;
  options.check = true;
  options.npes = 3;
  make(options);
  auto* words = symmetric<std::uint64_t>(4);
  auto offset = [&](int i) { return dev::offset_of(job_->handle(0), words + i); };
  auto writer = [&](int i) {
    return dev::journal_writer(job_->heap(1), job_->state(1).journal_offset, offset(i));
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(writer(i), -1);
  context(0).signal(set(words, 1), 1);
  const dev::Context two = context(2);
  auto* theirs = job_->at<std::uint64_t>(2, offset(0));
  two.put(dev::Thread{}, theirs + 3, theirs + 3, 0, 1, add(theirs + 1, 1));
  two.atomic_add(theirs + 2, std::uint64_t{1}, 1);
  EXPECT_EQ(writer(0), 0);
  EXPECT_EQ(writer(1), 2);
  EXPECT_EQ(writer(2), 2);
  EXPECT_EQ(writer(3), -1);
  two.signal(set(theirs, 2), 1);
  EXPECT_EQ(writer(0), 2);
  two.p(theirs + 3, std::uint64_t{4}, 1);
  EXPECT_EQ(writer(3), 2);
}

TEST_F(FaultTest, WrongArgumentsAreRefusedAndNamed) {
  JobOptions options;
  options.check = true;
  make(options);
  auto* words = symmetric<std::uint64_t>(8);
  std::uint64_t local[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const dev::Context ctx = context();
  const dev::Thread thread;
  auto expect = [&](FaultCode code, const char* where, int pe) {
    const FaultRecord record = fault();
    EXPECT_EQ(code_of(record), code) << where;
    EXPECT_STREQ(record.where, where);
    EXPECT_EQ(record.pe, pe) << where;
    return record;
  };

  ctx.put(thread, words, local, 1, 2);
  expect(FaultCode::kBadPe, "put", 2);
  ctx.get(thread, local, words, 1, -1);
  expect(FaultCode::kBadPe, "get", -1);
  ctx.atomic_inc(words, 1000);
  expect(FaultCode::kBadPe, "atomic_add", 1000);
  ctx.signal(set(words, 1), 7);
  expect(FaultCode::kBadPe, "signal", 7);
  ctx.fence_pe(2);
  expect(FaultCode::kBadPe, "fence_pe", 2);
  ctx.quiet_pe(-3);
  expect(FaultCode::kBadPe, "quiet_pe", -3);

  ctx.put(thread, local, words, 1, 1);  // the wrong way round
  expect(FaultCode::kBadRange, "put", 1);
  ctx.put_nbi(thread, static_cast<std::uint64_t*>(nullptr), local, 1, 1);
  expect(FaultCode::kBadRange, "put", 1);
  EXPECT_EQ(ctx.g(local, 1), 0u);
  expect(FaultCode::kBadRange, "g", 1);
  ctx.put(thread, words, local, 1, 1, set(local, 1));
  expect(FaultCode::kBadRange, "put", 1);
  auto* last = reinterpret_cast<std::uint64_t*>(job_->heap(0) + job_->options().heap_bytes) - 1;
  ctx.p(last, std::uint64_t{5}, 1);
  EXPECT_FALSE(has_fault());
  ctx.put(thread, last, local, 2, 1);
  EXPECT_EQ(expect(FaultCode::kBadRange, "put", 1).wanted, 16u);
  ctx.iput(thread, last - 2, local, 2, 1, 2, 1);
  EXPECT_FALSE(has_fault());
  ctx.iput(thread, last - 2, local, 3, 1, 2, 1);
  expect(FaultCode::kBadRange, "iput", 1);
  ctx.iput(thread, words, local, 0, 1, 2, 1);
  expect(FaultCode::kBadRange, "iput", 1);
  ctx.iget(thread, local, words, 1, -1, 2, 1);
  expect(FaultCode::kBadRange, "iget", 1);
  EXPECT_FALSE(ctx.wait_until(thread, local, Cmp::kEq, std::uint64_t{1}));
  expect(FaultCode::kBadRange, "wait_until", 0);
  EXPECT_FALSE(ctx.test(local, Cmp::kEq, std::uint64_t{1}));
  expect(FaultCode::kBadRange, "test", 0);

  auto* odd = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(words) + 4);
  ctx.atomic_set(odd, std::uint64_t{1}, 1);
  expect(FaultCode::kMisaligned, "atomic_set", 1);
  ctx.signal(add(odd, 1), 1);
  expect(FaultCode::kMisaligned, "signal", 1);

  for (int i = 0; i < 8; ++i) EXPECT_EQ(words[i], 0u);
}

TEST_F(FaultTest, ACountThatOverflowsIsRefusedAlways) {
  make();
  auto* words = symmetric<std::uint64_t>(1);
  std::uint64_t local = 9;
  const dev::Context ctx = context();
  const std::size_t huge = ~std::size_t{0} / 8 + 2;  // 8 bytes each: wraps to 8
  ctx.put(dev::Thread{}, words, &local, huge, 1);
  EXPECT_EQ(code_of(fault()), FaultCode::kBadRange);
  ctx.get_nbi(dev::Thread{}, &local, words, huge, 1);
  EXPECT_EQ(code_of(fault()), FaultCode::kBadRange);
  ctx.iput(dev::Thread{}, words, &local, 1, 1, huge, 1);
  EXPECT_EQ(code_of(fault()), FaultCode::kBadRange);
  ctx.iget(dev::Thread{}, &local, words, 1, PTRDIFF_MAX, 3, 1);
  EXPECT_EQ(code_of(fault()), FaultCode::kBadRange);
  EXPECT_FALSE(ctx.wait_until_all(dev::Thread{}, words, huge, nullptr, Cmp::kEq, std::uint64_t{0}));
  EXPECT_EQ(code_of(fault()), FaultCode::kBadRange);
  EXPECT_EQ(local, 9u);
  EXPECT_EQ(*job_->at<std::uint64_t>(1, dev::offset_of(job_->handle(0), words)), 0u);
}

TEST_F(FaultTest, ZeroSizesAreFineEverywhere) {
  for (bool mapped : {true, false}) {
    JobOptions options;
    options.mapped = mapped;
    options.check = true;
    make(options);
    auto* word = symmetric<std::uint64_t>(1);
    std::uint64_t local = 9;
    const dev::Context ctx = context();
    const dev::Thread thread;
    ctx.put(thread, word, &local, 0, 1);
    ctx.put_nbi(thread, word, &local, 0, 1);
    ctx.get(thread, &local, word, 0, 1);
    ctx.get_nbi(thread, &local, word, 0, 1);
    ctx.iput(thread, word, &local, 1, 1, 0, 1);
    ctx.iget(thread, &local, word, 1, 1, 0, 1);
    ctx.put(thread, static_cast<int*>(nullptr), static_cast<const int*>(nullptr), 0, 1,
            add(word, 3));
    ctx.signal(none(), 1);
    ctx.quiet(thread);
    EXPECT_FALSE(has_fault());
    EXPECT_EQ(local, 9u);
    EXPECT_EQ(*job_->at<std::uint64_t>(1, dev::offset_of(job_->handle(0), word)), 3u);
  }
}

// The host does not come: a full ring, and what waits for completion, end at the deadline. When it
// comes at last, nothing that was accepted is lost, and the ring works on.
TEST_F(FaultTest, AFullRingIsReportedAndRecovers) {
  make_without_host(4);
  auto* sum = symmetric<std::uint64_t>(2);
  const dev::Context ctx = context();
  for (int i = 0; i < 4; ++i) ctx.signal(add(sum, 1), 1);
  EXPECT_FALSE(has_fault());
  for (int i = 0; i < 3; ++i) {
    ctx.signal(add(sum, 100), 1);
    const FaultRecord record = fault();
    EXPECT_EQ(code_of(record), FaultCode::kRingTimeout);
    EXPECT_STREQ(record.where, "signal");
    EXPECT_EQ(record.pe, 1);
  }
  ctx.quiet(dev::Thread{});
  EXPECT_STREQ(fault().where, "quiet");

  let_host_come();
  for (int i = 0; i < 20; ++i) ctx.signal(add(sum, 1), 1);
  ctx.quiet(dev::Thread{});
  EXPECT_EQ(ctx.g(sum, 1), 24u);
  EXPECT_FALSE(has_fault());
}

TEST_F(FaultTest, AResultThatComesTooLateHarmsNobody) {
  make_without_host(2);
  auto* words = symmetric<std::uint64_t>(2);
  const dev::Context ctx = context();
  EXPECT_EQ(ctx.atomic_fetch_inc(words, 1), 0u);
  EXPECT_STREQ(fault().where, "atomic_fetch_add");
  EXPECT_EQ(ctx.g(words + 1, 1), 0u);
  EXPECT_STREQ(fault().where, "g");

  let_host_come();
  for (std::uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(ctx.atomic_fetch_inc(words, 1), i + 1);
    ctx.p(words + 1, i + 50, 1);
    ctx.quiet(dev::Thread{});
    EXPECT_EQ(ctx.g(words + 1, 1), i + 50);
  }
  EXPECT_FALSE(has_fault());
}

}  // namespace
}  // namespace weft::test
