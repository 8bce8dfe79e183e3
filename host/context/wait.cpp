// wait and test: all forms of weft/wait.hpp are one scan over words, repeated until it is content.
#include <weft/wait.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/context/waiter.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

using Form = WaitArgs::Form;

const char* symbol(Cmp cmp) {
  constexpr const char* kSymbols[] = {"==", "!=", ">", ">=", "<", "<="};
  return kSymbols[static_cast<std::size_t>(cmp)];
}

template <class T>
T load(const T* word, int order) {
  T value;
  __atomic_load(word, &value, order);
  return value;
}

// Where a scan finds the words: there, or
struct InPlace {
  InPlace(const Job&, const WaitArgs& args) : args_(args) {}
  const void* words() const { return args_.words; }
  bool refresh() const { return true; }
  Status status() const { return Status::ok(); }
  const WaitArgs& args_;
};

// in a copy, made anew for every look, of what host threads cannot load.
class Mirror {
 public:
  Mirror(const Job& job, const WaitArgs& args)
      : job_(job), args_(args), copy_(args.count * args.width) {}
  const void* words() const { return copy_.data(); }
  // False: it has failed, now or before.
  bool refresh() {
    if (status_.is_ok()) status_ = job_.gpu->copy(copy_.data(), args_.words, copy_.size());
    return status_.is_ok();
  }
  Status status() const { return status_; }

 private:
  const Job& job_;
  const WaitArgs& args_;
  std::vector<std::byte> copy_;
  Status status_;
};

// Where a thread's next scan for any word begins: behind the one that it found last, so that words
// which satisfy all the time come in turn (OpenSHMEM 1.5, 9.10: fairness). By address; two sets of
// words that share an entry only begin at the front more often.
class Turns {
 public:
  static std::size_t& after(const void* words) {
    static thread_local std::array<Turn, 16> turns;
    Turn& turn = turns[(reinterpret_cast<std::uintptr_t>(words) >> 3) % turns.size()];
    if (turn.words != words) turn = {words, 0};
    return turn.next;
  }

 private:
  struct Turn {
    const void* words = nullptr;
    std::size_t next = 0;
  };
};

template <class T>
class Scan {
 public:
  Scan(const WaitArgs& args, const void* words)
      : args_(args),
        words_(static_cast<const T*>(words)),
        values_(static_cast<const T*>(args.values)) {
    while (first_ < args.count && !takes_part(first_)) ++first_;
    if (args.form == Form::kAny) turn_ = Turns::after(args.words);
  }

  bool nobody_takes_part() const { return first_ == args_.count; }

  // How many satisfy now, as wait_words returns it.
  std::size_t look() {
    switch (args_.form) {
      case Form::kAll: return look_all();
      case Form::kAny: return look_any();
      case Form::kSome: return look_some();
    }
    return 0;
  }

  // A word that does not satisfy, for the report.
  WaitFacts facts(const char* operation) const {
    std::size_t i = first_;
    for (std::size_t k = first_; k < args_.count; ++k)
      if (takes_part(k) && !holds(args_.cmp, load(words_ + k, __ATOMIC_RELAXED), wanted(k))) {
        i = k;
        break;
      }
    WaitFacts facts;
    facts.operation = operation;
    facts.word = static_cast<const T*>(args_.words) + i;
    facts.seen = text(load(words_ + i, __ATOMIC_RELAXED));
    facts.wanted = fmt::format("{} {}", symbol(args_.cmp), text(wanted(i)));
    if (args_.count > 1)
      facts.wanted += fmt::format(" (word {} of {}, which is the first to lack)", i, args_.count);
    return facts;
  }

 private:
  bool takes_part(std::size_t i) const { return args_.status == nullptr || args_.status[i] == 0; }
  T wanted(std::size_t i) const { return args_.vector ? values_[i] : values_[0]; }
  static std::string text(T value) {
    if constexpr (std::is_floating_point_v<T>)
      return fmt::format("{}", value);
    else if constexpr (std::is_signed_v<T>)
      return fmt::format("{}", static_cast<long long>(value));
    else
      return fmt::format("{}", static_cast<unsigned long long>(value));
  }

  // Polls relaxed. Then acquires: pairs with the release of the notify, atomic or word-sized put
  // that wrote the value, so that what came before it is seen.
  bool satisfied(std::size_t i) {
    if (!holds(args_.cmp, load(words_ + i, __ATOMIC_RELAXED), wanted(i))) return false;
    const T value = load(words_ + i, __ATOMIC_ACQUIRE);
    if (!holds(args_.cmp, value, wanted(i))) return false;
    if (args_.seen != nullptr) std::memcpy(args_.seen, &value, sizeof(T));
    return true;
  }

  std::size_t look_all() {
    for (; first_ < args_.count; ++first_)  // what has been satisfied once stays so
      if (takes_part(first_) && !satisfied(first_)) return 0;
    return args_.count;
  }
  std::size_t look_any() {
    const bool found = look_at(std::max(first_, turn_), args_.count) ||
                       look_at(first_, std::min(turn_, args_.count));
    return found ? 1 : 0;
  }
  bool look_at(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (takes_part(i) && satisfied(i)) {
        args_.indices[0] = i;
        Turns::after(args_.words) = i + 1;
        return true;
      }
    return false;
  }
  std::size_t look_some() {
    std::size_t found = 0;
    for (std::size_t i = first_; i < args_.count; ++i)
      if (takes_part(i) && satisfied(i)) args_.indices[found++] = i;
    return found;
  }

  const WaitArgs& args_;
  const T* words_;
  const T* values_;
  std::size_t first_ = 0;
  std::size_t turn_ = 0;  // of the form for any word
};

const char* name_of(Form form) {
  switch (form) {
    case Form::kAll: return "wait_until";
    case Form::kAny: return "wait_until_any";
    case Form::kSome: return "wait_until_some";
  }
  return "wait_until";
}

Status check_args(const Context::Impl& c, const char* routine, const WaitArgs& args) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(args.count, std::size_t{args.width}, &bytes)) bytes = kTooManyBytes;
  if (bytes == 0) return Status::ok();
  const char* const words = args.count == 1 && args.form == Form::kAll ? "word" : "words";
  RETURN_IF_ERROR(
      check_symmetric(c.job->heap_of(args.words), routine, words, args.words, bytes, c.checks)
          .status());
  RETURN_IF_ERROR(check_aligned(routine, words, args.words, args.width));
  RETURN_IF_ERROR(check_not_null(routine, "values", args.values, bytes));
  if (args.form != Form::kAll)
    RETURN_IF_ERROR(check_not_null(routine, "indices", args.indices, args.count));
  if (args.cmp > Cmp::kLe)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument cmp is {}; comparisons are 0 (eq) to 5 (le)",
                                     caller_or(routine), static_cast<int>(args.cmp)));
  return Status::ok();
}

template <class T, class Words>
Result<std::size_t> run_over(Context::Impl& c, const WaitArgs& args, bool wait) {
  Words words(*c.job, args);
  Scan<T> scan(args, words.words());
  // All form: nothing is lacking. Others: nothing can be found.
  if (scan.nobody_takes_part()) return args.form == Form::kAll ? args.count : 0;
  std::size_t found = 0;
  bool readable = true;
  // True: nothing more to wait for.
  const auto look = [&] {
    readable = words.refresh();
    return !readable || (found = scan.look()) != 0;
  };
  const bool at_once = look();
  if (!readable) return words.status();
  if (at_once) return found;
  if (!wait) {
    // A loop of tests is a wait, too: it moves operations on, and ends with the job.
    const auto alone = c.turn();
    c.queue.move_on();
    RETURN_IF_ERROR(c.still_there());
    return found;
  }
  const auto usable = [&] {
    const auto alone = c.turn();
    return c.usable();
  };
  RETURN_IF_ERROR(usable());
  RETURN_IF_ERROR(wait_for(
      *c.job, &c.queue, look, [&] { return scan.facts(name_of(args.form)); },
      c.shared ? &c.mutex : nullptr));
  if (!readable) return words.status();
  return found;
}

template <class T>
Result<std::size_t> run(Context::Impl& c, const WaitArgs& args, bool wait) {
  if (c.job->is_on_gpu(args.words)) return run_over<T, Mirror>(c, args, wait);
  return run_over<T, InPlace>(c, args, wait);
}

template <class I8, class I16, class I32, class I64>
Result<std::size_t> run_integer(Context::Impl& c, const WaitArgs& args, bool wait) {
  switch (args.width) {
    case 1: return run<I8>(c, args, wait);
    case 2: return run<I16>(c, args, wait);
    case 4: return run<I32>(c, args, wait);
    default: return run<I64>(c, args, wait);
  }
}

Result<std::size_t> dispatch(Context::Impl& c, const WaitArgs& args, bool wait) {
  if (args.type == WaitArgs::Type::kFloat)
    return args.width == 4 ? run<float>(c, args, wait) : run<double>(c, args, wait);
  if (args.type == WaitArgs::Type::kSigned)
    return run_integer<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(c, args, wait);
  return run_integer<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(c, args, wait);
}

}  // namespace

Result<std::size_t> wait_words(Context& ctx, const WaitArgs& args, bool wait) {
  Context::Impl& c = ctx.impl();
  Status status = check_args(c, wait ? name_of(args.form) : "test", args);
  if (!status.is_ok()) return report(std::move(status));
  auto found = dispatch(c, args, wait);
  if (!found) return report(found.status());
  return found;
}

}  // namespace weft
