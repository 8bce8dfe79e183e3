#include "python/src/operations.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <weft/collective.hpp>
#include <weft/wait.hpp>

#include "python/src/call.hpp"
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

// The arguments dst and src of a call, of one type of elements, `dst_blocks` of dst for each
// `src_blocks` of src.
struct Buffers {
  Buffers(const Call& call, Handle dst_given, Handle src_given, int dst_blocks = 1,
          int src_blocks = 1)
      : dst(call.array("dst", dst_given, Access::kWrite)),
        src(call.array("src", src_given, Access::kRead)) {
    if (dst.dtype != src.dtype)
      raise_argument(fmt::format("argument dst has elements of {}, src of {}", dst.dtype->name,
                                 src.dtype->name));
    if (dst.count * static_cast<std::size_t>(src_blocks) !=
        src.count * static_cast<std::size_t>(dst_blocks))
      raise_argument(
          fmt::format("argument dst has {} elements and src {}; dst has {} for each {} "
                      "of src",
                      dst.count, src.count, dst_blocks, src_blocks));
  }
  View dst, src;
};

bool has_code(const View& view, nb::dlpack::dtype_code code) {
  return view.dtype->dlpack.code == static_cast<std::uint8_t>(code);
}
bool is_signed(const View& view) { return has_code(view, nb::dlpack::dtype_code::Int); }

// One integer of 4 or 8 bytes in symmetric memory.
View word_of(const Call& call, const char* name, Handle argument) {
  const View word = call.array(name, argument, Access::kWrite);
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

Notify notify_of(const Call& call, const SignalOf& given) {
  if (given.signal.is_none()) return none();
  static constexpr std::pair<const char*, NotifyOp> kTable[] = {{"set", NotifyOp::kSet},
                                                                {"add", NotifyOp::kAdd}};
  const View word = word_of(call, "signal", given.signal);
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

// The symmetric memory that "cpu" or "cuda" means.
MemoryKind kind_of(const Job& job, const std::string& device) {
  if (device == "cpu") return MemoryKind::kHost;
  const std::string mine = fmt::format("cuda:{}", job.gpu_number());
  if (job.gpu() != nullptr && (device == "cuda" || device == mine)) return MemoryKind::kDevice;
  if (job.gpu() != nullptr)
    raise_argument(
        fmt::format("argument device is \"{}\"; the job has \"{}\" and \"cpu\"", device, mine));
  raise_argument(
      fmt::format("argument device is \"{}\", and this job has no GPU: torch.cuda in use "
                  "before weft.init(), or weft.init(device=\"cuda\"), gets it one",
                  device));
}

}  // namespace

// --- memory --------------------------------------------------------------------------------------

Tensor make_tensor(const JobPtr& job, Shape shape, Handle given, bool zeroed,
                   const std::string& device) {
  const DType& dtype = dtype_from(given);
  const std::size_t bytes = elements_of(shape, dtype.bytes) * dtype.bytes;
  const MemoryKind kind = kind_of(*job, device);
  const CallerName name(zeroed ? "weft.zeros" : "weft.empty");
  check_not_captured(*job);
  auto block = value_of(unlocked([&] { return job->allocate(bytes, zeroed, kind); }));
  std::byte* const data = block->address();
  return {std::move(block), data, std::move(shape), dtype};
}

Tensor adopt_array(const JobPtr& job, Handle array) {
  const View view = view_of("tensor", array, Access::kWrite);
  if (view.gpu >= 0) check_place("tensor", view, job->gpu_number(), "this job has no GPU");
  const CallerName name("weft.register");
  check_not_captured(*job);
  // Dropped by whatever thread frees it, which takes the interpreter's lock for that.
  const std::shared_ptr<void> owner(new nb::object(nb::borrow(array)), [](void* held) {
    const nb::gil_scoped_acquire lock;
    delete static_cast<nb::object*>(held);
  });
  auto block =
      value_of(unlocked([&] { return job->adopt(view.data, view.bytes, view.gpu, owner); }));
  return {std::move(block), view.data, view.shape, *view.dtype};
}

Tensor part_of(const JobPtr& job, const Tensor& arena, Handle array) {
  const View view = view_of("tensor", array, Access::kRead);
  const std::byte* const end = arena.data() + arena.bytes();
  if (view.data < arena.data() || view.data + view.bytes > end)
    raise_argument("argument tensor is not of this pool");
  check_not_captured(*job);
  check(unlocked([&] { return job->check_offsets(view.data, view.bytes); }));
  return {arena.block(), view.data, view.shape, *view.dtype};
}

void free_tensor(const JobPtr& job, const Tensor& tensor) {
  const CallerName name("weft.free");
  check_not_captured(*job);
  if (&tensor.block()->job() != job.get())
    raise_argument("weft.free: the tensor is of another job than the current one");
  check(unlocked([&] { return job->free(*tensor.block()); }));
}

// --- put, get, signals ---------------------------------------------------------------------------

void put(const JobPtr& job, Handle dst_, Handle src_, int pe, const SignalOf& given, Handle on) {
  const Call call(job, on);
  const Buffers b(call, dst_, src_);
  const Notify notify = notify_of(call, given);
  call.run([&](auto& by) { return by.put_bytes(b.dst.data, b.src.data, b.src.bytes, pe, notify); });
}

void get(const JobPtr& job, Handle dst_, Handle src_, int pe, Handle on) {
  const Call call(job, on);
  const Buffers b(call, dst_, src_);
  call.run([&](auto& by) { return by.get_bytes(b.dst.data, b.src.data, b.src.bytes, pe); });
}

void signal(const JobPtr& job, const SignalOf& given, int pe, Handle on) {
  const Call call(job, on);
  const Notify notify = notify_of(call, given);
  call.run([&](auto& by) { return by.signal(notify, pe); });
}

void wait(const JobPtr& job, Handle word_, const std::string& cmp, nb::int_ value, Handle on) {
  const Call call(job, on);
  const View word = word_of(call, "word", word_);
  const std::uint64_t wanted = bits_of("value", word, value);
  const WaitArgs args = wait_args(word, cmp, &wanted);
  call.run([&](auto& by) { return by.wait_words(args); });
}

bool test(const JobPtr& job, Handle word_, const std::string& cmp, nb::int_ value) {
  const Call call(job);
  const View word = word_of(call, "word", word_);
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
  const View word = word_of(call, "word", word_);
  const Amo amo = named("op", op, kTable);
  const std::uint64_t operand = amo == Amo::kFetch ? 0 : bits_of("value", word, value);
  const std::uint64_t wanted = amo == Amo::kCompareSwap ? bits_of("compare", word, compare) : 0;
  std::uint64_t old = 0;
  call.run([&](auto&) {
    return call.context().amo_bytes(amo, word.data, word.bytes, operand, wanted, &old, pe);
  });
  if (amo <= Amo::kXor) return nb::none();
  if (!is_signed(word)) return nb::int_(old);
  return nb::int_(word.bytes == 8 ? std::bit_cast<std::int64_t>(old)
                                  : std::int64_t{static_cast<std::int32_t>(old)});
}

void fence(const JobPtr& job) {
  const Call call(job);
  call.run([&](auto&) { return call.context().fence(); });
}
void quiet(const JobPtr& job, Handle on) {
  const Call call(job, on);
  call.run([&](auto& by) { return by.quiet(); });
}

std::uintptr_t context_pointer(const JobPtr& job) {
  const Call call(job);
  return reinterpret_cast<std::uintptr_t>(value_of(call.context().device_pointer()));
}

nb::bytes device_context(const JobPtr& job) {
  const Call call(job);
  const DeviceContext handle = value_of(call.context().device());
  return nb::bytes(&handle, sizeof(handle));
}

// --- teams ---------------------------------------------------------------------------------------

TeamOf world(const JobPtr& job) { return {job, value_of(job->use())->world()}; }
TeamOf node(const JobPtr& job) { return {job, value_of(job->use())->node()}; }

TeamOf team_of(const JobPtr& job, const std::vector<int>& ranks, const TeamOf* parent) {
  const Call call(job);
  const Team& members = call.team(parent);
  return {job, value_of(unlocked([&] { return call->team_from_list(members, ranks); }))};
}

TeamOf team_of_members(const JobPtr& job, const std::vector<int>& pes) {
  return {job, value_of(unlocked([&] { return job->team_of_members(pes); }))};
}

nb::tuple pes_of(const TeamOf& team) {
  nb::list pes;
  for (int rank = 0; rank < team.team.size; ++rank) pes.append(team.team.pe_of(rank));
  return nb::tuple(pes);
}

std::uintptr_t device_address_of(TeamOf& team) {
  const Gpu* const gpu = team.job->gpu();
  if (gpu == nullptr) return reinterpret_cast<std::uintptr_t>(&team.team);
  if (team.on_gpu == nullptr) team.on_gpu = value_of(gpu->copy_of(&team.team, sizeof(team.team)));
  return reinterpret_cast<std::uintptr_t>(team.on_gpu.get());
}

void destroy(TeamOf& team) {
  const Call call(team.job);
  call.run([&](auto&) { return call->destroy(team.team); });
}

// --- collectives ---------------------------------------------------------------------------------

void barrier(const JobPtr& job, const TeamOf* team, Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  call.run([&](auto& by) { return by.barrier(members); });
}
void sync(const JobPtr& job, const TeamOf* team, Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  call.run([&](auto& by) { return by.sync(members); });
}

void broadcast(const JobPtr& job, Handle dst_, Handle src_, int root, const TeamOf* team,
               Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  const Buffers b(call, dst_, src_);
  call.run([&](auto& by) {
    return by.broadcast_bytes(members, b.dst.data, b.src.data, b.src.bytes, root);
  });
}

void fcollect(const JobPtr& job, Handle dst_, Handle src_, const TeamOf* team, Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  const Buffers b(call, dst_, src_, members.size, 1);
  call.run(
      [&](auto& by) { return by.fcollect_bytes(members, b.dst.data, b.src.data, b.src.bytes); });
}

void alltoall(const JobPtr& job, Handle dst_, Handle src_, const TeamOf* team, Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  const Buffers b(call, dst_, src_);
  const auto blocks = static_cast<std::size_t>(members.size);
  if (b.src.count % blocks != 0)
    raise_argument(
        fmt::format("argument src has {} elements, which are no {} blocks of as "
                    "many elements each",
                    b.src.count, blocks));
  call.run([&](auto& by) {
    return by.alltoall_bytes(members, b.dst.data, b.src.data, b.src.bytes / blocks);
  });
}

void reduce(const JobPtr& job, Handle dst_, Handle src_, const std::string& op, const TeamOf* team,
            Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  const Buffers b(call, dst_, src_);
  const Element element = element_of("reduce", b.dst);
  const ReduceOp fold = reduce_op_named(op);
  call.run([&](auto& by) {
    return by.reduce_elements(members, b.dst.data, b.src.data, b.dst.count, element, fold);
  });
}

void reducescatter(const JobPtr& job, Handle dst_, Handle src_, const std::string& op,
                   const TeamOf* team, Handle on) {
  const Call call(job, on);
  const Team& members = call.team(team);
  const Buffers b(call, dst_, src_, 1, members.size);
  const Element element = element_of("reducescatter", b.dst);
  const ReduceOp fold = reduce_op_named(op);
  call.run([&](auto& by) {
    return by.reducescatter_elements(members, b.dst.data, b.src.data, b.dst.count, element, fold);
  });
}

}  // namespace weft::python
