// weft-run as a child of a test: what it printed, how it ended, what it left behind.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/base/unique_fd.hpp"

namespace weft {

class Launched {
 public:
  // `weft-run arguments...`; "PROGRAM" among them stands for the test program. If the first one is
  // "sh", `sh arguments...` instead, with both programs in $RUN and $PROGRAM.
  explicit Launched(std::vector<std::string> arguments);
  ~Launched();  // ends what still runs

  void signal(int signal) const;
  void write(std::string_view input);
  void close_input() { input_.reset(); }

  // Until standard output holds `text` that often; false when the output ends without.
  bool await(const std::string& text, int times = 1) { return await(out_, text, times); }
  bool await_err(const std::string& text) { return await(err_, text, 1); }
  std::string out();  // so far
  std::string err();
  // Waits for the end; the status as a shell has it.
  int wait();
  pid_t pid() const { return pid_; }

  // Processes of this job that are alive: found by a mark in their environment.
  std::vector<pid_t> alive() const;
  // Waits (processes die a moment after they are killed) until none is; false if some stay.
  bool all_gone() const;

 private:
  struct Stream {
    UniqueFd fd;
    std::string text;
    bool ended = false;
    std::thread reader;
  };
  void read(Stream& stream);
  bool await(const Stream& stream, const std::string& text, int times);

  std::string mark_;
  pid_t pid_ = -1;
  bool waited_ = false;
  int status_ = -1;
  UniqueFd input_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Stream out_, err_;  // text and ended guarded by mutex_
};

}  // namespace weft
