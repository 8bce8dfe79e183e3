// The base of all tests that move one message between the pair.
#pragma once

#include <cstddef>

#include "perftest/contents.hpp"
#include "perftest/floor/copy.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {

// Every PE of the pair has a source with bytes of its own and a destination that holds the
// complement of the peer's.
class Transfer : public Test {
 public:
  Transfer(Job& job, const Point& point) : job_(job), point_(point) {}

  Status allocate() {
    ASSIGN_OR_RETURN(src_, job_.symmetric<std::byte>(point_.bytes));
    ASSIGN_OR_RETURN(dst_, job_.symmetric<std::byte>(point_.bytes));
    return Status::ok();
  }

  Status prepare() override {
    const std::uint64_t key = job_.fresh_key();
    mine_ = mix(key, static_cast<std::uint64_t>(job_.pe()));
    if (!job_.in_pair()) return Status::ok();
    theirs_ = mix(key, static_cast<std::uint64_t>(job_.peer()));
    fill(src_, point_.bytes, mine_);
    fill_wrong(dst_, point_.bytes, theirs_);
    return Status::ok();
  }

  Work work() const override { return {1, static_cast<double>(point_.bytes)}; }

 protected:
  // The destination that this PE has, if the test wrote to it.
  Status check_if(bool written, std::string_view what) const {
    return written ? expect(what, job_.pe(), dst_, point_.bytes, theirs_) : Status::ok();
  }

  // Where memory of the peer can be stored to; an error where it is not mapped.
  template <class T>
  Result<T*> mapped(T* symmetric) const {
    void* const there = job_.ctx().ptr(symmetric, job_.peer());
    if (there != nullptr) return static_cast<T*>(there);
    return Status::error(Code::kUnsupported,
                         "the peer's memory is not mapped here: run without --floor");
  }

  Job& job_;
  const Point point_;
  std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
  std::uint64_t mine_ = 0, theirs_ = 0;  // keys of what I send and of what I get
};

// Senders write to the peer.
class PutTest : public Transfer {
 public:
  using Transfer::Transfer;
  Result<Ns> run_floor(Count iters) override {
    if (!job_.sends()) return Ns{0};
    ASSIGN_OR_RETURN(std::byte* const there, mapped(dst_));
    return floor::copy(there, src_, point_.bytes, iters);
  }
  Status check() override { return check_if(job_.receives(), "put"); }
};

// Senders read from the peer.
class GetTest : public Transfer {
 public:
  using Transfer::Transfer;
  Result<Ns> run_floor(Count iters) override {
    if (!job_.sends()) return Ns{0};
    ASSIGN_OR_RETURN(const std::byte* const there, mapped(src_));
    return floor::copy(dst_, there, point_.bytes, iters);
  }
  Status check() override { return check_if(job_.sends(), "get"); }
};

}  // namespace weft::perf
