// Puts, gets, signals and waits on streams.
#include <weft/on_stream.hpp>

#include <fmt/format.h>

#include <cstring>

#include "host/context/check.hpp"
#include "host/stream/call.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr unsigned kCopyThreads = 256;

// The notify of bytes that are there already. One that sets a word takes no kernel.
Status queue_notify(const StreamCall& call, const Notify& notify, int pe) {
  if (notify.op == NotifyOp::kNone) return Status::ok();
  std::byte* const word = call.there(notify.signal, pe);
  if (notify.op == NotifyOp::kSet && word != nullptr && call.has_word_steps())
    return call.store(reinterpret_cast<std::uint64_t*>(word), notify.value);
  return call.launch(1, kernel::PutKernel{call.handle(), nullptr, nullptr, 0, pe, notify});
}

Status queue_put(const StreamCall& call, void* dst, const void* src, std::size_t bytes, int pe,
                 const Notify& notify) {
  RETURN_IF_ERROR(call.check_pe(pe));
  RETURN_IF_ERROR(call.check_there("dst", dst, bytes));
  RETURN_IF_ERROR(check_not_null(call.routine(), "src", src, bytes));
  RETURN_IF_ERROR(call.check_notify(notify));
  if (bytes == 0 && notify.op == NotifyOp::kNone) return Status::ok();
  std::byte* const there = call.there(dst, pe);
  if (bytes != 0 && there == nullptr)
    return call.launch(kCopyThreads,
                       kernel::PutKernel{call.handle(), static_cast<std::byte*>(dst),
                                         static_cast<const std::byte*>(src), bytes, pe, notify});
  if (bytes != 0) RETURN_IF_ERROR(call.copy(there, src, bytes));
  return queue_notify(call, notify, pe);
}

Status queue_get(const StreamCall& call, void* dst, const void* src, std::size_t bytes, int pe) {
  RETURN_IF_ERROR(call.check_pe(pe));
  RETURN_IF_ERROR(call.check_there("src", src, bytes));
  RETURN_IF_ERROR(check_not_null(call.routine(), "dst", dst, bytes));
  if (bytes == 0) return Status::ok();
  const std::byte* const there = call.there(src, pe);
  if (there == nullptr)
    return call.launch(kCopyThreads,
                       kernel::GetKernel{call.handle(), static_cast<std::byte*>(dst),
                                         static_cast<const std::byte*>(src), bytes, pe});
  return call.copy(dst, there, bytes);
}

Status queue_amo(const StreamCall& call, Amo amo, void* dst, std::size_t width, std::uint64_t value,
                 int pe) {
  RETURN_IF_ERROR(call.check_pe(pe));
  if (amo > Amo::kXor || (width != 4 && width != 8))
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: set, add, and, or, xor of words of 4 or 8 bytes are what a "
                    "stream takes",
                    caller_or(call.routine())));
  RETURN_IF_ERROR(call.check_there("dst", dst, width, width));
  return call.launch(1, kernel::AmoKernel{call.handle(), amo, static_cast<std::uint8_t>(width), pe,
                                          dst, value, 0, nullptr});
}

std::uint64_t first_value(const WaitArgs& args) {
  std::uint64_t value = 0;
  std::memcpy(&value, args.values, args.width);
  return value;
}

// Whether the stream itself can wait so, and how.
bool as_word_step(const WaitArgs& args, WordStep* step) {
  if (args.count != 1 || args.vector || args.status != nullptr || args.width != 8 ||
      args.type == WaitArgs::Type::kFloat)
    return false;
  step->word = static_cast<std::uint64_t*>(const_cast<void*>(args.words));
  step->value = first_value(args);
  const bool is_signed = args.type == WaitArgs::Type::kSigned;
  const std::uint64_t largest = is_signed ? ~std::uint64_t{0} >> 1 : ~std::uint64_t{0};
  switch (args.cmp) {
    case Cmp::kEq: step->kind = WordStep::Kind::kWaitEqual; return true;
    case Cmp::kGe: step->kind = WordStep::Kind::kWaitAtLeast; return true;
    case Cmp::kGt:
      if (step->value == largest) return false;  // never, which a kernel will report
      step->kind = WordStep::Kind::kWaitAtLeast;
      ++step->value;
      return true;
    default: return false;
  }
}

Status check_wait(const StreamCall& call, const WaitArgs& args) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(args.count, std::size_t{args.width}, &bytes)) bytes = kTooManyBytes;
  if (args.form != WaitArgs::Form::kAll || args.cmp > Cmp::kLe)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} on a stream: waits for all words, by comparisons 0 (eq) to 5 (le)",
                    caller_or(call.routine())));
  RETURN_IF_ERROR(check_not_null(call.routine(), "values", args.values, bytes));
  return call.check_there(args.count == 1 ? "word" : "words", args.words, bytes, args.width);
}

Status queue_wait(const StreamCall& call, const WaitArgs& args) {
  RETURN_IF_ERROR(check_wait(call, args));
  if (args.count == 0) return Status::ok();
  StreamWaits::Wait wait;
  if (call.has_word_steps() && as_word_step(args, &wait.step)) {
    wait.offset = call.gpu()->heap().try_offset(args.words, args.width);
    ASSIGN_OR_RETURN(const bool queued, call.wait(wait));
    if (queued) return Status::ok();
  }
  kernel::WaitKernel kernel{};
  kernel.handle = call.handle();
  kernel.words = args.words;
  kernel.status = args.status;
  kernel.count = args.count;
  kernel.values = args.vector ? args.values : nullptr;
  kernel.value = args.vector ? 0 : first_value(args);
  kernel.type = args.type;
  kernel.width = args.width;
  kernel.cmp = args.cmp;
  return call.launch(1, kernel);
}

// Copies of a GPU's stream, and stores of its kernels, are complete when what follows begins.
Status queue_quiet(const StreamCall& call) {
  if (call.reaches_all()) return Status::ok();
  return call.launch(1, kernel::QuietKernel{call.handle()});
}

}  // namespace

Status OnStream::put_bytes(void* dst, const void* src, std::size_t bytes, int pe, Notify notify) {
  const auto call = StreamCall::begin(*context_, stream_, bytes == 0 ? "signal" : "put");
  return report(call ? queue_put(*call, dst, src, bytes, pe, notify) : call.status());
}

Status OnStream::get_bytes(void* dst, const void* src, std::size_t bytes, int pe) {
  const auto call = StreamCall::begin(*context_, stream_, "get");
  return report(call ? queue_get(*call, dst, src, bytes, pe) : call.status());
}

Status OnStream::amo_bytes(Amo amo, void* dst, std::size_t width, std::uint64_t value, int pe) {
  const auto call = StreamCall::begin(*context_, stream_, "atomic");
  return report(call ? queue_amo(*call, amo, dst, width, value, pe) : call.status());
}

Status OnStream::wait_words(const WaitArgs& args) {
  const auto call = StreamCall::begin(*context_, stream_, "wait_until");
  return report(call ? queue_wait(*call, args) : call.status());
}

Status OnStream::quiet() {
  const auto call = StreamCall::begin(*context_, stream_, "quiet");
  return report(call ? queue_quiet(*call) : call.status());
}

}  // namespace weft
