// Threads of the library. A thread that the system refuses is a Status, never an exception.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include <weft/result.hpp>

namespace weft {

// A thread that runs, or none. It is joined when the object goes.
class Thread {
 public:
  Thread() noexcept = default;
  explicit Thread(pthread_t handle) noexcept : handle_(handle), joinable_(true) {}
  Thread(Thread&& other) noexcept
      : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}
  Thread& operator=(Thread&& other) noexcept {
    join();
    handle_ = other.handle_;
    joinable_ = std::exchange(other.joinable_, false);
    return *this;
  }
  ~Thread() { join(); }

  bool joinable() const noexcept { return joinable_; }
  void join() noexcept {
    if (std::exchange(joinable_, false)) ::pthread_join(handle_, nullptr);
  }
  void detach() noexcept {
    if (std::exchange(joinable_, false)) ::pthread_detach(handle_);
  }

 private:
  pthread_t handle_{};
  bool joinable_ = false;
};

struct ThreadPlan {
  const char* name;             // what ps, top and gdb show, of at most 15 letters
  std::size_t stack_bytes = 0;  // 0: the system's default
  // Signals are for the threads of the program: one of the library's own takes none but these.
  std::initializer_list<int> signals = {};
  bool is_program = false;  // it runs the program's code, and takes those that its maker takes
};

Result<Thread> start_thread(const ThreadPlan& plan, std::function<void()> body);

// Words the system's refusal of a thread for the user: its text, and which limit to raise.
std::string describe_no_thread(int error);

}  // namespace weft
