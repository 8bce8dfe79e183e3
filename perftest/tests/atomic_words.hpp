// The words that atomic tests work on: one per thread that works, and what it fetched last.
#pragma once

#include <string>

#include "perftest/contents.hpp"
#include "perftest/floor/atomics.hpp"
#include "perftest/tests/atomic_data.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {

class AtomicWords : public Test {
 public:
  AtomicWords(Job& job, const Point& point, std::size_t threads = 1)
      : job_(job), point_(point), threads_(threads) {}

  Status allocate() {
    ASSIGN_OR_RETURN(words_, job_.symmetric<std::byte>(threads_ * kApart));
    ASSIGN_OR_RETURN(fetched_, job_.symmetric<std::byte>(threads_ * kApart));
    ASSIGN_OR_RETURN(models_, job_.symmetric<std::byte>(threads_ * kApart));
    return Status::ok();
  }

  Status prepare() override {
    key_ = job_.fresh_key();
    done_ = 0;
    return with_atomic_type(point_.type->element, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < threads_; ++i) {
        *word<AtomicModel<T>>(models_, i) = model<T>(i);
        *word<T>(words_, i) = model<T>(i).first();
        *word<T>(fetched_, i) = static_cast<T>(~std::uint64_t{0});
      }
      return Status::ok();
    });
  }

  Result<Ns> run_floor(Count iters) override {
    if (threads_ != 1) return Status::error(Code::kUnsupported, "the baseline has one thread");
    return work_on(iters, [&](auto atomic, auto* dst, const auto& model, auto* old) -> Result<Ns> {
      void* const there = job_.ctx().ptr(dst, job_.peer());
      if (there == nullptr)
        return Status::error(Code::kUnsupported, "the peer's memory is not mapped here");
      auto* const target = static_cast<decltype(dst)>(there);
      const Count done = done_, last = iters - 1;
      return time_plain(iters, [=](Count i) {
        const auto result = floor::apply<atomic()>(
            target, model.template operand_of<atomic()>(done + i), model.compare_of(done + i));
        if (i == last) *old = result;  // no store per operation: a locked one would wait for it
      });
    });
  }

  Status check() override {
    return with_atomic_type(point_.type->element, [&](auto zero) { return check_as(zero); });
  }

 protected:
  // Each word has a cache line of its own.
  static constexpr std::size_t kApart = 64;
  template <class T>
  static T* word(std::byte* memory, std::size_t i) {
    return reinterpret_cast<T*>(memory + i * kApart);
  }
  template <class T>
  AtomicModel<T> model(std::size_t i) const {
    return AtomicModel<T>::of_word(key_, i);
  }

  // body(atomic, word, model, place for the old value) on senders, for word 0; counts on all.
  template <class Body>
  Result<Ns> work_on(Count iters, Body&& body) {
    Result<Ns> time = Ns{0};
    if (job_.sends())
      time = with_atomic_type(point_.type->element, [&](auto zero) {
        using T = decltype(zero);
        return with_atomic<T>(point_.atomic, [&](auto atomic) -> Result<Ns> {
          T old = *word<T>(fetched_, 0);
          Result<Ns> ns = body(atomic, word<T>(words_, 0), model<T>(0), &old);
          *word<T>(fetched_, 0) = old;
          return ns;
        });
      });
    done_ += iters;
    return time;
  }

  Job& job_;
  const Point point_;
  const std::size_t threads_;
  std::byte* words_ = nullptr;    // changed by the peer
  std::byte* fetched_ = nullptr;  // what I fetched from the peer
  std::byte* models_ = nullptr;   // model(i) where kernels can read it
  std::uint64_t key_ = 0;
  Count done_ = 0;  // operations on each word since prepare

 private:
  template <class T>
  Status check_as(T) const {
    const auto compare = [&](std::string_view what, std::size_t i, T seen, T wanted) {
      if (seen == wanted) return Status::ok();
      return wrong_data(what, job_.pe(), "word " + std::to_string(i), std::to_string(seen),
                        std::to_string(wanted));
    };
    for (std::size_t i = 0; i < threads_; ++i) {
      const AtomicModel<T> m = model<T>(i);
      const Count changed = job_.receives() ? done_ : 0;
      RETURN_IF_ERROR(compare(to_string(point_.atomic), i, *word<T>(words_, i),
                              m.after(point_.atomic, changed)));
      if (is_fetching(point_.atomic) && job_.sends() && done_ > 0)
        RETURN_IF_ERROR(compare("the fetched value", i, *word<T>(fetched_, i),
                                m.after(point_.atomic, done_ - 1)));
    }
    return Status::ok();
  }
};

inline bool has_atomics(const TypeInfo& type) { return type.xamo; }
inline constexpr std::string_view kBareAtomic =
    "the bare instruction on the same word (add: lock xadd)";

}  // namespace weft::perf
