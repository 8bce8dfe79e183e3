#include "tests/fault/launch/launched.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace weft {
namespace {

std::array<UniqueFd, 2> make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Launched::Launched(std::vector<std::string> arguments) {
  mark_ = "LAUNCH_TEST_MARK=" + std::to_string(std::random_device()()) + "." +
          std::to_string(::getpid());
  const bool shell = !arguments.empty() && arguments.front() == "sh";
  if (shell) {
    arguments.front() = "/bin/sh";
  } else {
    arguments.insert(arguments.begin(), WEFT_RUN);
  }
  for (std::string& argument : arguments) {
    if (argument == "PROGRAM") argument = WEFT_LAUNCH_PROGRAM;
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  std::string run = "RUN=" WEFT_RUN;
  std::string program = "PROGRAM=" WEFT_LAUNCH_PROGRAM;
  for (std::string* text : {&mark_, &run, &program}) environment.push_back(text->data());
  environment.push_back(nullptr);

  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0].get(), 0);
    ::dup2(out[1].get(), 1);
    ::dup2(err[1].get(), 2);
    ::execve(argv[0], argv.data(), environment.data());
    ::_exit(98);
  }
  input_ = std::move(in[1]);
  out_.fd = std::move(out[0]);
  err_.fd = std::move(err[0]);
  for (Stream* stream : {&out_, &err_}) {
    stream->reader = std::thread([this, stream] { read(*stream); });
  }
}

Launched::~Launched() {
  if (!waited_) {
    ::kill(pid_, SIGKILL);
    for (const pid_t pid : alive()) ::kill(pid, SIGKILL);
    wait();
  }
  for (Stream* stream : {&out_, &err_}) {
    if (stream->reader.joinable()) stream->reader.join();
  }
}

void Launched::read(Stream& stream) {
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t n = ::read(stream.fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (n <= 0) stream.ended = true;
    if (n > 0) stream.text.append(piece.data(), static_cast<std::size_t>(n));
    changed_.notify_all();
    if (n <= 0) return;
  }
}

void Launched::signal(int signal) const { ASSERT_EQ(::kill(pid_, signal), 0); }

void Launched::write(std::string_view input) {
  while (!input.empty()) {
    const ssize_t n = ::write(input_.get(), input.data(), input.size());
    ASSERT_GT(n, 0);
    input.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool Launched::await(const Stream& stream, const std::string& text, int times) {
  std::unique_lock lock(mutex_);
  for (;;) {
    int found = 0;
    for (std::size_t at = 0; (at = stream.text.find(text, at)) != std::string::npos; ++at) ++found;
    if (found >= times) return true;
    if (stream.ended) return false;
    changed_.wait(lock);
  }
}

std::string Launched::out() {
  const std::lock_guard lock(mutex_);
  return out_.text;
}

std::string Launched::err() {
  const std::lock_guard lock(mutex_);
  return err_.text;
}

int Launched::wait() {
  if (waited_) return status_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  waited_ = true;
  input_.reset();
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // The whole output: the readers see the end when nobody holds the pipes any more.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return out_.ended && err_.ended; });
  return status_;
}

std::vector<pid_t> Launched::alive() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // A zombie has no environment any more, and whoever is not ours cannot be read.
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (text.find(mark_) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

bool Launched::all_gone() const {
  for (int i = 0; i < 3000; ++i) {
    if (alive().empty()) return true;
    ::usleep(10'000);
  }
  return false;
}

}  // namespace weft
