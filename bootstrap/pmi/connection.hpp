// The socket that a PMI launcher left open: questions and answers, one at a time.
#pragma once

#include <mutex>

#include "bootstrap/pmi/message.hpp"
#include "src/base/clock.hpp"
#include "src/base/unique_fd.hpp"

namespace weft::pmi {

class Connection {
 public:
  // Programs that this one starts are not to speak in its name: the socket is closed on exec.
  explicit Connection(int fd);

  void set_form(Form form);
  // Waits for the answer, which must be `wanted` and say rc=0, if it says rc at all.
  Result<Message> ask(const Message& question, std::string_view wanted, const Deadline& deadline);
  // Does not wait.
  Status tell(const Message& message);

 private:
  Result<Message> receive(const Deadline& deadline, std::string_view what);

  UniqueFd fd_;
  Form form_ = Form::kLine;
  Decoder decoder_{Form::kLine};
  std::mutex send_mutex_;  // an abort may come beside a question
};

}  // namespace weft::pmi
