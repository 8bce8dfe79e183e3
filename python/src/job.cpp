#include "python/src/job.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/result.hpp>

namespace weft::python {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kAgreed = 1024;  // words that agree() takes at once

Status ended() {
  return Status::error(Code::kInvalidArgument,
                       "the job has ended: weft.finalize() was called; weft.init() starts another");
}

}  // namespace

// --- Block ---------------------------------------------------------------------------------------

Block::Block(std::shared_ptr<Job> job, std::byte* address, std::size_t bytes, int gpu, int number)
    : job_(std::move(job)),
      memory_(job_->runtime_->hold_memory()),
      address_(address),
      bytes_(bytes),
      gpu_(gpu),
      number_(number) {}

Block::~Block() {
  if (!freed_) job_->drop(number_);
}

JobObject::JobObject(std::shared_ptr<Job> job, void* object, int number)
    : job_(std::move(job)), object_(object), number_(number) {}

JobObject::~JobObject() { job_->drop(number_); }

// --- Job -----------------------------------------------------------------------------------------

Job::Job(Runtime runtime, std::optional<UniqueId> rendezvous)
    : runtime_(std::move(runtime)), rendezvous_(std::move(rendezvous)) {}

Result<std::shared_ptr<Job>> Job::start(Result<Runtime> runtime,
                                        std::optional<UniqueId> rendezvous) {
  if (!runtime) return runtime.status();
  std::shared_ptr<Job> job(new Job(std::move(runtime).value(), std::move(rendezvous)));
  if (Status ready = job->prepare(); !ready) return ready;
  return job;
}

Status Job::prepare() {
  if (const int ordinal = runtime_->gpu(); ordinal >= 0) {
    auto gpu = Gpu::open(ordinal);
    if (!gpu) return gpu.status();
    gpu_ = *gpu;
  }
  runtime_->context().share();  // threads of one interpreter may call at once
  auto own = runtime_->split_strided(runtime_->world(), 0, 1, runtime_->npes());
  if (!own) return own.status();
  own_ = *own;
  auto words = runtime_->callocate<std::uint64_t>(2 * kAgreed + Runtime::kTeamWords);
  if (!words) return words.status();
  words_ = *words;
  meeting_words_ = words_ + 2 * kAgreed;
  return Status::ok();
}

Result<Job::Use> Job::use() {
  // Never waits for finalize(): that waits for other PEs, which may be threads that want the
  // interpreter's lock, and the caller holds it.
  std::shared_lock lock(in_use_, std::try_to_lock);
  if (!lock || ended_) return ended();
  return Use(*runtime_, std::move(lock));
}

Status Job::agree(const std::uint64_t* in, std::uint64_t* out, std::size_t count, ReduceOp op) {
  Context& context = runtime_->context();
  if (Status complete = context.quiet(); !complete) return complete;
  for (std::size_t at = 0; at < count; at += kAgreed) {
    const std::size_t some = std::min(kAgreed, count - at);
    std::memcpy(words_, in + at, some * sizeof(*in));
    Status done = reduce(context, own_, words_ + kAgreed, words_, some, op);
    if (!done) return done;
    std::memcpy(out + at, words_ + kAgreed, some * sizeof(*out));
  }
  return Status::ok();
}

void Job::drop(int number) {
  const std::lock_guard lock(dropped_mutex_);
  dropped_.insert(number);
}

// Memory of the GPU is given back by host threads, of which its streams know nothing.
Status Job::rest() {
  const bool drops_any = [&] {
    const std::lock_guard lock(dropped_mutex_);
    return !dropped_.empty();
  }();
  return gpu_ && drops_any ? gpu_->synchronize() : Status::ok();
}

Status Job::free_number(int number) {
  Entry gone = std::exchange(entries_[static_cast<std::size_t>(number)], {});
  {
    const std::lock_guard lock(dropped_mutex_);
    dropped_.erase(number);
  }
  if (gone.adopted) {
    if (gone.owner_stays) kept_.push_back(std::move(gone.object));
    return runtime_->disown({*gone.adopted});
  }
  return gone.memory == nullptr ? Status::ok() : runtime_->free(gone.memory);
}

// All that this PE has under way, on its GPU too, is complete first, and agree() brings all PEs
// here: so nothing is under way to memory that all dropped.
Status Job::free_dropped() {
  if (entries_.empty()) return Status::ok();
  if (Status rests = rest(); !rests) return rests;
  std::vector<std::uint64_t> mine((entries_.size() + kWordBits - 1) / kWordBits);
  {
    const std::lock_guard lock(dropped_mutex_);
    for (const int number : dropped_)
      mine[static_cast<std::size_t>(number) / kWordBits] |=
          std::uint64_t{1} << (static_cast<std::size_t>(number) % kWordBits);
  }
  std::vector<std::uint64_t> all(mine.size());
  Status status = agree(mine.data(), all.data(), mine.size(), ReduceOp::kAnd);
  for (std::size_t number = 0; status.is_ok() && number < entries_.size(); ++number)
    if ((all[number / kWordBits] >> (number % kWordBits) & 1) != 0)
      status = free_number(static_cast<int>(number));
  return status;
}

Status Job::begin_to_add() { return ended_ ? ended() : free_dropped(); }

int Job::add_entry(Entry entry) {
  const auto is_free = [](const Entry& each) {
    return each.memory == nullptr && each.object == nullptr && !each.adopted;
  };
  auto place = std::find_if(entries_.begin(), entries_.end(), is_free);
  if (place == entries_.end()) place = entries_.insert(place, Entry{});
  *place = std::move(entry);
  return static_cast<int>(place - entries_.begin());
}

Result<std::shared_ptr<Block>> Job::allocate(std::size_t bytes, bool zeroed, MemoryKind kind) {
  const std::lock_guard alone(calls_);
  if (Status ready = begin_to_add(); !ready) return ready;
  const Gpu::Current current(gpu());
  const std::size_t some = std::max<std::size_t>(bytes, 1);  // so that even nothing has an address
  auto memory =
      zeroed ? runtime_->callocate_bytes(some, 1, kind) : runtime_->allocate_bytes(some, 0, kind);
  if (!memory) return memory.status();
  if (!zeroed)  // callocate_bytes() ends with a barrier
    if (Status here = runtime_->barrier(); !here) return here;
  return std::make_shared<Block>(shared_from_this(), static_cast<std::byte*>(*memory), bytes,
                                 kind == MemoryKind::kDevice ? gpu_number() : -1,
                                 add_entry({*memory, nullptr}));
}

Result<std::shared_ptr<Block>> Job::adopt(std::byte* address, std::size_t bytes, int gpu,
                                          std::shared_ptr<void> owner) {
  const std::lock_guard alone(calls_);
  if (Status ready = begin_to_add(); !ready) return ready;
  const Gpu::Current current(this->gpu());
  const OwnMemory piece{address, bytes, "memory that was registered"};
  if (Status adopted = runtime_->adopt({piece}); !adopted) return adopted;
  return std::make_shared<Block>(shared_from_this(), address, bytes, gpu,
                                 add_entry({nullptr, std::move(owner), piece, gpu < 0}));
}

Status Job::check_offsets(const std::byte* address, std::size_t bytes) {
  const std::lock_guard alone(calls_);
  if (ended_) return ended();
  // All take part, also who has found something wrong.
  constexpr std::uint64_t kNone = ~std::uint64_t{0} >> 1;
  const std::uint64_t mine = runtime_->offset_of(address, bytes).value_or(kNone);
  const std::uint64_t most[] = {mine, ~mine, bytes, ~std::uint64_t{bytes}};
  std::uint64_t all[4] = {};
  if (Status status = agree(most, all, 4, ReduceOp::kMax); !status) return status;
  if (all[0] == kNone)
    return Status::error(Code::kNotSymmetric,
                         fmt::format("the tensor is no symmetric memory on {} PE: weft.empty(), "
                                     "weft.register() and weft.torch.MemPool make it",
                                     mine == kNone ? "this" : "another"));
  if (all[0] == ~all[1] && all[2] == ~all[3]) return Status::ok();
  return Status::error(
      Code::kNotSymmetric,
      fmt::format(
          "PEs have allocated differently: the tensor lies at offsets {} to {} and has {} to "
          "{} bytes; here {} and {}. All make the same tensors of a pool in the same order",
          ~all[1], all[0], ~all[3], all[2], mine, bytes));
}

Result<Team> Job::team_of_members(const std::vector<int>& pes) {
  const std::lock_guard alone(calls_);
  if (ended_) return ended();
  return runtime_->team_of(pes, meeting_words_);
}

Status Job::free(Block& block) {
  const std::lock_guard alone(calls_);
  if (ended_) return ended();
  if (block.freed_)
    return Status::error(Code::kInvalidArgument, "weft.free: the tensor was freed before");
  if (block.gpu() >= 0)
    if (Status rests = gpu_->synchronize(); !rests) return rests;
  const auto number = static_cast<std::uint64_t>(block.number());
  const auto exports = static_cast<std::uint64_t>(block.exports());
  // The largest number, what is left of it to the largest word, and who has most arrays.
  const std::uint64_t mine[] = {
      number, ~number, exports == 0 ? 0 : exports << 32 | static_cast<unsigned>(runtime_->pe())};
  std::uint64_t all[3] = {};
  if (Status status = agree(mine, all, 3, ReduceOp::kMax); !status) return status;
  if (all[0] != ~all[1])
    return Status::error(Code::kNotSymmetric,
                         "weft.free: PEs free different tensors; all free the same ones, in the "
                         "same order");
  if (all[2] != 0)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("weft.free: {} array{} of PE {} still {} the tensor's memory; delete what "
                    "numpy, torch or another library made of it first",
                    all[2] >> 32, all[2] >> 32 == 1 ? "" : "s", all[2] & 0xffffffffu,
                    all[2] >> 32 == 1 ? "has" : "have"));
  block.freed_ = true;
  return free_number(block.number());
}

Status Job::finalize() {
  const std::lock_guard alone(calls_);
  if (ended_) return Status::ok();
  const Gpu::Current current(gpu());
  Status status = runtime_->health();
  if (status.is_ok() && gpu_) status = gpu_->synchronize();
  if (status.is_ok()) status = free_dropped();
  const std::lock_guard last(in_use_);
  ended_ = true;
  // Operators go before the runtime, on all PEs in this order; memory that was adopted goes after
  // it.
  for (Entry& each : entries_)
    if (!each.adopted) each.object.reset();
  runtime_.reset();
  entries_.clear();
  kept_.clear();
  rendezvous_.reset();
  return status;
}

void Job::abort(int code, const std::string& why) {
  const std::shared_lock lock(in_use_);
  if (!ended_) runtime_->abort(code, why);
}

}  // namespace weft::python
