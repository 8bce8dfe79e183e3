#include "src/platform/cpu/grid_queue.hpp"

#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::cpu {
namespace {

constexpr std::uint64_t kAlive = 0x57656674'73747265;  // "Weftstre"

// A host thread's default stream: made at its first launch, waited for when the thread ends.
class DefaultStream {
 public:
  ~DefaultStream() { drop_inherited(); }
  GridQueue& get() {
    drop_inherited();
    if (stream_ == nullptr) stream_ = std::make_unique<GridQueue>();
    return *stream_;
  }

 private:
  // In a child made by fork() the stream is a picture of one that runs elsewhere: neither wait for
  // it nor tear it down.
  void drop_inherited() {
    if (stream_ != nullptr && stream_->is_inherited()) inherited_ = stream_.release();
  }
  std::unique_ptr<GridQueue> stream_;
  GridQueue* inherited_ = nullptr;
};

}  // namespace

GridQueue::GridQueue() : magic_(kAlive) {}

GridQueue::~GridQueue() {
  synchronize();
  magic_ = 0;
}

Result<GridQueue*> GridQueue::from(Stream handle) {
  if (handle == nullptr) {
    thread_local DefaultStream mine;
    return &mine.get();
  }
  auto* stream = static_cast<GridQueue*>(handle);
  if (stream->magic_ != kAlive) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} is not a stream: it was destroyed, or never came from "
                                     "create_stream()",
                                     handle));
  }
  if (stream->is_inherited()) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("stream {} was made before fork() and belongs to the parent "
                                     "process; make one with create_stream() in this process",
                                     handle));
  }
  return stream;
}

Status GridQueue::launch(std::unique_ptr<Grid> grid) {
  grid->set_queue(*this);
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(pool_.grow(grid->threads()));
  ++launched_;
  if (busy_) {
    queue_.push_back(std::move(grid));
  } else {
    start(std::move(grid));
  }
  return Status::ok();
}

void GridQueue::start(std::unique_ptr<Grid> grid) {
  busy_ = true;
  running_ = std::move(grid);
  pool_.start(*running_, running_->threads());
}

void GridQueue::finished() {
  running_.reset();  // first, so that the kernel's copy is gone when synchronize() returns
  const std::lock_guard lock(mutex_);
  ++done_;
  progressed_.notify_all();
  busy_ = false;
  if (!queue_.empty()) {
    auto next = std::move(queue_.front());
    queue_.pop_front();
    start(std::move(next));
  }
}

void GridQueue::synchronize() {
  std::unique_lock lock(mutex_);
  const std::uint64_t target = launched_;
  progressed_.wait(lock, [&] { return done_ >= target; });
}

}  // namespace weft::cpu
