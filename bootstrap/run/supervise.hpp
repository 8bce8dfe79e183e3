// Watches over the PEs of a job: one poll loop over their output, their ends, signals and
// deadlines. PEs of other hosts are the same to it, only that a Link stands between.
#pragma once

#include <signal.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/run/arguments.hpp"
#include "bootstrap/run/child.hpp"
#include "bootstrap/run/exit_status.hpp"
#include "bootstrap/run/input.hpp"
#include "bootstrap/run/line_buffer.hpp"
#include "bootstrap/run/remote_shell.hpp"
#include "bootstrap/run/output_queue.hpp"
#include "bootstrap/run/pmi1_server.hpp"
#include "bootstrap/run/repeated_messages.hpp"
#include "bootstrap/tcp/server.hpp"
#include "src/base/clock.hpp"

namespace weft::run {

class Supervisor {
 public:
  // `signals`: readable signalfd of what on_signal() handles, blocked since before any thread.
  Supervisor(const Arguments& arguments, const Options& options, const Inherited& inherited,
             int signals, tcp::Server& server);

  // Starts every PE, or none: whoever is there already is ended again. The status on failure.
  std::optional<int> start(const std::vector<Binding>& bindings);
  // Until every PE has ended; weft-run's exit status.
  int run();

 private:
  struct Pe {
    Pe(int number, Lines::Sink out, Lines::Sink err)
        : number(number), out(std::move(out)), err(std::move(err)) {}
    const int number;
    Child child;           // of this host only
    Link* link = nullptr;  // to the PE's host, if that is another one
    int pid = 0;           // there
    Lines out, err;
    LastWords last_words;           // without the library's messages that were shown
    bool message_is_shown = false;  // of the library, by this PE or by one that wrote the same
    UniqueFd out_file, err_file;    // with --output-dir
    UniqueFd pmi;                   // with --pmi 1
    pmi::Decoder pmi_messages{pmi::Form::kLine};
    bool running = false;
    int stopped_by = 0;  // the signal, while it is stopped
    Ending ending;
    std::string debt;  // it ended well but owed the job something: what
    bool failed() const { return !ending.clean() || !debt.empty(); }
  };
  struct Watch {
    int fd;
    short events;
    std::function<void()> act;
  };

  // --- start
  Status open_files(Pe& pe) const;
  Status launch(Pe& pe, const Binding* binding);
  Status start_hosts();
  Status start_host(const Host& host);
  int start_failed(const Status& status);
  // --- what happens
  std::vector<Watch> watches();
  int poll_timeout() const;
  void on_signals();
  void on_signal(int signal);
  void on_children();
  void on_job_failure();
  void on_pmi_abort();
  void settle();
  void on_deadlines();
  void write_output();
  void lose_output(const Status& why);
  // Reads what the PE says through PMI, in so many pieces at most; the answers go out at once.
  void serve_pmi(Pe& pe, int most_reads);
  void tell_pmi(const Pmi1Server::Answer& answer);
  // Until there is no more for now. False: the stream has ended.
  static bool read_output(int fd, Lines& into, int most_reads);
  // --- other hosts
  void on_frame(Link& link, const net::Frame& frame);
  void on_links();
  void lose_host(Link& link, const Ending& ending);
  void close_links();
  // --- what follows
  void note_stop(Pe& pe);
  void record_end(Pe& pe);
  void report_failure(const Pe& pe);
  void end_all(int signal);
  void signal_all(int signal);
  void kill_all();
  int running() const;
  void forward_error(Pe& pe, std::string_view line);
  void forward(const Pe& pe, int fd, std::string_view line);

  const Arguments& arguments_;
  const Options& options_;
  const Inherited& inherited_;
  const int signals_;
  tcp::Server& server_;
  Outlet outlet_;
  Repeats repeats_;
  Input input_;
  Pmi1Server pmi_;
  std::deque<Link> links_;     // to other hosts; their addresses stay
  std::deque<Pe> pes_;         // their addresses stay
  std::optional<int> status_;  // what decided weft-run's own status
  int interrupted_ = 0;        // the signal by which the user ends the job
  bool ending_ = false;        // everybody has been told to end
  bool job_failed_ = false;
  bool output_lost_ = false;
  bool suspended_ = false;         // by the user (Ctrl-Z), with all PEs
  std::vector<const Pe*> failed_;  // in the order of their ends
  Deadline timeout_ = Deadline::never();
  Deadline grace_ = Deadline::never();
  Deadline beat_ = Deadline::never();      // to other hosts
  Deadline start_ = Deadline::never();     // of their agents
  Deadline cut_ = Deadline::never();       // of those that do not even answer SIGKILL
  Deadline patience_ = Deadline::never();  // with a PE that is lost but not dead yet
};

}  // namespace weft::run
