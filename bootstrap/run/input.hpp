// Standard input for PE 0. A file or pipe is simply inherited. A terminal is relayed, because PEs
// are not in its foreground process group and would be stopped when they read it.
#pragma once

#include <string>

#include <weft/result.hpp>

#include "src/base/unique_fd.hpp"

namespace weft::run {

class Input {
 public:
  static Result<Input> open();

  // The descriptor that becomes PE 0's standard input.
  int for_child() const { return relayed_ ? child_end_.get() : 0; }
  // Once the child has it.
  void close_child_end() { child_end_.reset(); }

  // The descriptors to poll; -1 if there is none at the moment.
  int source() const;
  int target() const { return buffer_.empty() ? -1 : parent_end_.get(); }
  void read_some();
  void write_some();

 private:
  bool relayed_ = false;
  UniqueFd child_end_;
  UniqueFd parent_end_;
  std::string buffer_;
};

}  // namespace weft::run
