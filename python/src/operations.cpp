#include "python/src/operations.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <weft/collective.hpp>
#include <weft/wait.hpp>

#include "python/src/errors.hpp"
#include "python/src/named.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

Cmp cmp_named(const std::string& name) {
  static constexpr std::pair<const char*, Cmp> kTable[] = {{"==", Cmp::kEq}, {"!=", Cmp::kNe},
                                                           {">", Cmp::kGt},  {">=", Cmp::kGe},
                                                           {"<", Cmp::kLt},  {"<=", Cmp::kLe}};
  return named("cmp", name, kTable);
}
ReduceOp reduce_op_named(const std::string& name) {
  static constexpr std::pair<const char*, ReduceOp> kTable[] = {
      {"sum", ReduceOp::kSum}, {"prod", ReduceOp::kProd}, {"min", ReduceOp::kMin},
      {"max", ReduceOp::kMax}, {"and", ReduceOp::kAnd},   {"or", ReduceOp::kOr},
      {"xor", ReduceOp::kXor}};
  return named("op", name, kTable);
}

// One call of a job. libweft's failures name its own routines, whose arguments have the names that
// they have here.
class Call {
 public:
  explicit Call(const JobPtr& job) : job_(job.get()), use_(value_of(job->use())) {}
  Runtime* operator->() const { return &*use_; }
  Context& context() const { return use_->context(); }
  // Raises, so it is called with the interpreter's lock: before run().
  const Team& team(const TeamOf* given) const {
    if (given != nullptr && given->job.get() != job_)
      raise_argument("argument team is of another job than the current one");
    return given != nullptr ? given->team : use_->world();
  }

  // Runs what may wait for others without the interpreter's lock; raises what fails.
  template <class Body>
  void run(Body body) const {
    check(unlocked(body));
  }

 private:
  Job* job_;
  Job::Use use_;
};

// The arguments dst and src of a routine, of one type of elements, `dst_blocks` of dst for each
// `src_blocks` of src.
struct Buffers {
  Buffers(const char* routine, Handle dst_given, Handle src_given, int dst_blocks = 1,
          int src_blocks = 1)
      : dst(view_of("dst", dst_given, Access::kWrite)),
        src(view_of("src", src_given, Access::kRead)) {
    if (dst.dtype != src.dtype)
      raise_argument(fmt::format("{}: dst has elements of {}, src of {}", routine, dst.dtype->name,
                                 src.dtype->name));
    if (dst.count * static_cast<std::size_t>(src_blocks) !=
        src.count * static_cast<std::size_t>(dst_blocks))
      raise_argument(
          fmt::format("{}: dst has {} elements and src {}; dst has {} for each {} of src", routine,
                      dst.count, src.count, dst_blocks, src_blocks));
  }
  View dst, src;
};

bool has_code(const View& view, nb::dlpack::dtype_code code) {
  return view.dtype->dlpack.code == static_cast<std::uint8_t>(code);
}
bool is_signed(const View& view) { return has_code(view, nb::dlpack::dtype_code::Int); }

// One integer of 4 or 8 bytes in symmetric memory.
View word_of(const char* name, Handle argument) {
  const View word = view_of(name, argument, Access::kWrite);
  const bool is_integer = is_signed(word) || has_code(word, nb::dlpack::dtype_code::UInt);
  if (word.count != 1 || !is_integer || (word.bytes != 4 && word.bytes != 8))
    raise_argument(
        fmt::format("argument {} has {} elements of {}; it is one integer of 4 or 8 bytes, "
                    "as in tensor[3:4]",
                    name, word.count, word.dtype->name));
  return word;
}
// The bits of a number of Python's as an integer of the word's type; raises if it does not fit.
std::uint64_t bits_of(const char* name, const View& word, Handle value) {
  const int bits = static_cast<int>(word.bytes) * 8;
  try {
    if (is_signed(word)) {
      const auto wide = nb::cast<std::int64_t>(value);
      if (bits == 64 || wide == static_cast<std::int32_t>(wide))
        return bits == 64 ? static_cast<std::uint64_t>(wide) : static_cast<std::uint32_t>(wide);
    } else {
      const auto wide = nb::cast<std::uint64_t>(value);
      if (bits == 64 || wide >> 32 == 0) return wide;
    }
  } catch (const nb::cast_error&) {
  }
  raise_argument(fmt::format("argument {} is {}, which is no {}", name,
                             nb::cast<std::string>(nb::str(value)), word.dtype->name));
}

Notify notify_of(const SignalOf& given) {
  if (given.signal.is_none()) return none();
  static constexpr std::pair<const char*, NotifyOp> kTable[] = {{"set", NotifyOp::kSet},
                                                                {"add", NotifyOp::kAdd}};
  const View word = word_of("signal", given.signal);
  if (word.bytes != sizeof(std::uint64_t))
    raise_argument(fmt::format("argument signal is one of {}; a signal is an int64 or uint64",
                               word.dtype->name));
  return {named("op", given.op, kTable), reinterpret_cast<std::uint64_t*>(word.data), given.value};
}

WaitArgs wait_args(const View& word, const std::string& cmp, const std::uint64_t* value) {
  WaitArgs args;
  args.words = word.data;
  args.values = value;
  args.type = is_signed(word) ? WaitArgs::Type::kSigned : WaitArgs::Type::kUnsigned;
  args.width = static_cast<std::uint8_t>(word.bytes);
  args.cmp = cmp_named(cmp);
  return args;
}

Element element_of(const char* routine, const View& view) {
  if (!view.dtype->element)
    raise(Status::error(Code::kUnsupported,
                        fmt::format("{} does not take elements of {}", routine, view.dtype->name)));
  return *view.dtype->element;
}

}  // namespace

// --- memory --------------------------------------------------------------------------------------

Tensor make_tensor(const JobPtr& job, Shape shape, Handle given, bool zeroed) {
  const DType& dtype = dtype_from(given);
  const std::size_t bytes = elements_of(shape, dtype.bytes) * dtype.bytes;
  const CallerName name(zeroed ? "weft.zeros" : "weft.empty");
  auto block = value_of(unlocked([&] { return job->allocate(bytes, zeroed); }));
  std::byte* const data = block->address();
  return {std::move(block), data, std::move(shape), dtype};
}

void free_tensor(const JobPtr& job, const Tensor& tensor) {
  const CallerName name("weft.free");
  if (&tensor.block()->job() != job.get())
    raise_argument("weft.free: the tensor is of another job than the current one");
  check(unlocked([&] { return job->free(*tensor.block()); }));
}

// --- put, get, signals ---------------------------------------------------------------------------

void put(const JobPtr& job, Handle dst_, Handle src_, int pe, const SignalOf& given) {
  const Call call(job);
  const Buffers b("weft.put", dst_, src_);
  const Notify notify = notify_of(given);
  call.run(
      [&] { return call.context().put_bytes(b.dst.data, b.src.data, b.src.bytes, pe, notify); });
}

void get(const JobPtr& job, Handle dst_, Handle src_, int pe) {
  const Call call(job);
  const Buffers b("weft.get", dst_, src_);
  call.run([&] { return call.context().get_bytes(b.dst.data, b.src.data, b.src.bytes, pe); });
}

void signal(const JobPtr& job, const SignalOf& given, int pe) {
  const Call call(job);
  const Notify notify = notify_of(given);
  call.run([&] { return call.context().signal(notify, pe); });
}

void wait(const JobPtr& job, Handle word_, const std::string& cmp, nb::int_ value) {
  const Call call(job);
  const View word = word_of("word", word_);
  const std::uint64_t wanted = bits_of("value", word, value);
  const WaitArgs args = wait_args(word, cmp, &wanted);
  call.run([&] { return wait_words(call.context(), args, true).status(); });
}

bool test(const JobPtr& job, Handle word_, const std::string& cmp, nb::int_ value) {
  const Call call(job);
  const View word = word_of("word", word_);
  const std::uint64_t wanted = bits_of("value", word, value);
  return value_of(wait_words(call.context(), wait_args(word, cmp, &wanted), false)) != 0;
}

nb::object atomic(const JobPtr& job, const std::string& op, Handle word_, Handle value, int pe,
                  Handle compare) {
  static constexpr std::pair<const char*, Amo> kTable[] = {{"set", Amo::kSet},
                                                           {"add", Amo::kAdd},
                                                           {"and", Amo::kAnd},
                                                           {"or", Amo::kOr},
                                                           {"xor", Amo::kXor},
                                                           {"fetch", Amo::kFetch},
                                                           {"swap", Amo::kSwap},
                                                           {"compare_swap", Amo::kCompareSwap},
                                                           {"fetch_add", Amo::kFetchAdd},
                                                           {"fetch_and", Amo::kFetchAnd},
                                                           {"fetch_or", Amo::kFetchOr},
                                                           {"fetch_xor", Amo::kFetchXor}};
  const Call call(job);
  const View word = word_of("word", word_);
  const Amo amo = named("op", op, kTable);
  const std::uint64_t operand = amo == Amo::kFetch ? 0 : bits_of("value", word, value);
  const std::uint64_t wanted = amo == Amo::kCompareSwap ? bits_of("compare", word, compare) : 0;
  std::uint64_t old = 0;
  call.run([&] {
    return call.context().amo_bytes(amo, word.data, word.bytes, operand, wanted, &old, pe);
  });
  if (amo <= Amo::kXor) return nb::none();
  if (!is_signed(word)) return nb::int_(old);
  return nb::int_(word.bytes == 8 ? std::bit_cast<std::int64_t>(old)
                                  : std::int64_t{static_cast<std::int32_t>(old)});
}

void fence(const JobPtr& job) {
  const Call call(job);
  call.run([&] { return call.context().fence(); });
}
void quiet(const JobPtr& job) {
  const Call call(job);
  call.run([&] { return call.context().quiet(); });
}

// --- teams ---------------------------------------------------------------------------------------

TeamOf world(const JobPtr& job) { return {job, value_of(job->use())->world()}; }
TeamOf node(const JobPtr& job) { return {job, value_of(job->use())->node()}; }

TeamOf team_of(const JobPtr& job, const std::vector<int>& ranks, const TeamOf* parent) {
  const Call call(job);
  const Team& members = call.team(parent);
  return {job, value_of(unlocked([&] { return call->team_from_list(members, ranks); }))};
}

void destroy(TeamOf& team) {
  const Call call(team.job);
  call.run([&] { return call->destroy(team.team); });
}

// --- collectives ---------------------------------------------------------------------------------

void barrier(const JobPtr& job, const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  call.run([&] { return weft::barrier(call.context(), members); });
}
void sync(const JobPtr& job, const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  call.run([&] { return weft::sync(call.context(), members); });
}

void broadcast(const JobPtr& job, Handle dst_, Handle src_, int root, const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  const Buffers b("weft.broadcast", dst_, src_);
  call.run([&] {
    return broadcast_bytes(call.context(), members, b.dst.data, b.src.data, b.src.bytes, root);
  });
}

void fcollect(const JobPtr& job, Handle dst_, Handle src_, const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  const Buffers b("weft.fcollect", dst_, src_, members.size, 1);
  call.run(
      [&] { return fcollect_bytes(call.context(), members, b.dst.data, b.src.data, b.src.bytes); });
}

void alltoall(const JobPtr& job, Handle dst_, Handle src_, const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  const Buffers b("weft.alltoall", dst_, src_);
  const auto blocks = static_cast<std::size_t>(members.size);
  if (b.src.count % blocks != 0)
    raise_argument(
        fmt::format("weft.alltoall: src has {} elements, which are no {} blocks of as "
                    "many elements each",
                    b.src.count, blocks));
  call.run([&] {
    return alltoall_bytes(call.context(), members, b.dst.data, b.src.data, b.src.bytes / blocks);
  });
}

void reduce(const JobPtr& job, Handle dst_, Handle src_, const std::string& op,
            const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  const Buffers b("weft.reduce", dst_, src_);
  const Element element = element_of("weft.reduce", b.dst);
  const ReduceOp fold = reduce_op_named(op);
  call.run([&] {
    return reduce_elements(call.context(), members, b.dst.data, b.src.data, b.dst.count, element,
                           fold);
  });
}

void reducescatter(const JobPtr& job, Handle dst_, Handle src_, const std::string& op,
                   const TeamOf* team) {
  const Call call(job);
  const Team& members = call.team(team);
  const Buffers b("weft.reducescatter", dst_, src_, 1, members.size);
  const Element element = element_of("weft.reducescatter", b.dst);
  const ReduceOp fold = reduce_op_named(op);
  call.run([&] {
    return reducescatter_elements(call.context(), members, b.dst.data, b.src.data, b.dst.count,
                                  element, fold);
  });
}

}  // namespace weft::python
