// Descriptors of the library where standard streams are closed. Each case is a child, since it
// closes those of its process.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fcntl.h>
#include <utility>

#include "src/base/unique_fd.hpp"

namespace weft {
namespace {

// Returns what `body` does in a child that has the streams in `closed` (a bit each) closed.
template <class Body>
int in_child(unsigned closed, Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd = 0; fd <= 2; ++fd)
      if ((closed >> fd & 1u) != 0) ::close(fd);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int memory_file() { return ::memfd_create("test", 0); }

class Descriptors : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(ClosedStreams, Descriptors, ::testing::Range(0u, 8u));

TEST_P(Descriptors, LieAboveTheStandardStreams) {
  EXPECT_EQ(in_child(GetParam(),
                     [] {
                       const UniqueFd first(memory_file()), second(memory_file());
                       UniqueFd third;
                       third.reset(memory_file());
                       return first.get() > 2 && second.get() > 2 && third.get() > 2 ? 0 : 1;
                     }),
            0);
}

// A library that does not ask gets no standard stream either, and printing fails as it did.
TEST_P(Descriptors, OfOthersDoNotTakeTheirNumbers) {
  const unsigned closed = GetParam();
  EXPECT_EQ(in_child(closed,
                     [closed] {
                       hold_standard_streams();
                       if (memory_file() <= 2) return 1;
                       char byte = 0;
                       for (int fd = 0; fd <= 2; ++fd) {
                         if ((closed >> fd & 1u) == 0) continue;
                         errno = 0;
                         if (::read(fd, &byte, 1) != -1 || errno != EBADF) return 2;
                         errno = 0;
                         if (::write(fd, &byte, 1) != -1 || errno != EBADF) return 3;
                         if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) return 4;
                       }
                       return 0;
                     }),
            0);
}

TEST_P(Descriptors, MovedOnesAreClosedOnExecAndLeaveNothingBehind) {
  EXPECT_EQ(in_child(GetParam(),
                     [] {
                       const UniqueFd low(memory_file());
                       struct stat mine {};
                       if (::fstat(low.get(), &mine) != 0) return 1;
                       for (int fd = 0; fd <= 2; ++fd) {
                         struct stat theirs {};
                         if (::fstat(fd, &theirs) == 0 && theirs.st_ino == mine.st_ino &&
                             theirs.st_dev == mine.st_dev)
                           return 2;
                       }
                       UniqueFd other(std::move(const_cast<UniqueFd&>(low)));
                       other.reset(other.get());
                       return ::fstat(other.get(), &mine) == 0 ? 0 : 3;
                     }),
            0);
}

TEST(Descriptors, WithoutARoomAboveThereIsNone) {
  EXPECT_EQ(in_child(1,
                     [] {
                       while (memory_file() >= 0) {  // up to the limit
                       }
                       ::close(0);
                       const UniqueFd none(memory_file());
                       return !none && errno == EMFILE ? 0 : 1;
                     }),
            0);
}

}  // namespace
}  // namespace weft
