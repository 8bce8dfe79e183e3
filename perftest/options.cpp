#include "perftest/options.hpp"

#include <cmath>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <weft/version.hpp>

#include "perftest/options_read.hpp"
#include "perftest/size.hpp"
#include "perftest/status.hpp"

namespace weft::perf {
namespace {

constexpr const char* kAbout =
    "Measures Weft: latency, bandwidth and rate of every operation, host and device API.\n"
    "Every test checks its data. Tests: names (put, put_bw, ...), all, quick, claims;\n"
    "'weft-perf list' explains each. Peer tests need two PEs:\n"
    "  weft-run -n 2 weft-perf put      two processes\n"
    "  weft-perf --pes 2 put            two threads of one process\n"
    "On GPUs (-DWEFT_CUDA=ON), a PE on each: sets gpu, collectives, gemm and fused, beside bare "
    "kernels,\n"
    "NCCL and cuBLASLt; tune measures plans of collectives:\n"
    "  weft-run -n 2 weft-perf collectives    beside NCCL\n"
    "  weft-perf gemm 4096 1280 5120          one product, M N K\n";

template <class E, std::size_t N>
Status read_choice(std::string_view option, const std::string& text, const Word<E> (&table)[N],
                   std::optional<E>& out) {
  if (text.empty() || text == "all") return Status::ok();
  out = find_word(table, text);
  return out ? Status::ok() : choice_mistake(option, text, names_of(table));
}

// One name or "all".
template <class E, std::size_t N>
Status read_choices(std::string_view option, const std::string& text, const Word<E> (&table)[N],
                    std::vector<E>& out) {
  if (text.empty()) return Status::ok();
  out.clear();
  for (const auto& word : table)
    if (text == "all" || text == word.name) out.push_back(word.value);
  if (!out.empty()) return Status::ok();
  auto names = names_of(table);
  names.push_back("all");
  return choice_mistake(option, text, names);
}

Status read_size(std::string_view option, const std::string& text,
                 std::optional<std::uint64_t>& out) {
  if (text.empty()) return Status::ok();
  auto bytes = parse_size(text);
  if (!bytes)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: {}", option, bytes.status().text()));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  if (*bytes < 1 || *bytes > kMost) return mistake(option, text, "write a size from 1 to 1t");
  out = *bytes;
  return Status::ok();
}

Status read_type(const std::string& text, const TypeInfo*& out) {
  if (text.empty()) return Status::ok();
  out = find_type(text);
  if (out != nullptr) return Status::ok();
  std::vector<std::string_view> names;
  for (const TypeInfo& type : types()) names.push_back(type.name);
  return choice_mistake("-d/--datatype", text, names);
}

// The set for a first look fits on two screens and takes seconds; whoever asks for more gets it.
void shorten(const Raw& raw, Options& o) {
  if (raw.step.empty()) o.step = 32;
  if (raw.seconds.empty()) o.seconds = 0.02;
  if (raw.api.empty()) o.api = Api::kHost;
  if (raw.atomic.empty()) o.atomics = {Atomic::kAdd, Atomic::kFetchAdd, Atomic::kCompareSwap};
}

Result<Options> interpret(const Raw& raw) {
  constexpr Count kManyIters = Count{1} << 40;
  Options o;
  o.tests = raw.tests;
  RETURN_IF_ERROR(read_shapes(o.tests, o.op.shapes));
  RETURN_IF_ERROR(read_operators(raw, o.op));
  RETURN_IF_ERROR(read_number("--since", raw.since, std::uint64_t{1},
                              std::numeric_limits<std::uint64_t>::max(), o.since));
  RETURN_IF_ERROR(read_choice("--api", raw.api, kApis, o.api));
  RETURN_IF_ERROR(read_choice("--kind", raw.kind, kKinds, o.kind));
  RETURN_IF_ERROR(read_size("-b/--min", raw.min, o.min));
  RETURN_IF_ERROR(read_size("-e/--max", raw.max, o.max));
  if (o.min && o.max && *o.min > *o.max)
    return mistake("-b/--min", raw.min, fmt::format("it exceeds -e/--max {}", raw.max));
  RETURN_IF_ERROR(read_number("-f/--step", raw.step, 1.01, 1048576.0, o.step));
  RETURN_IF_ERROR(read_number("-n/--iters", raw.iters, Count{1}, kManyIters, o.iters));
  RETURN_IF_ERROR(read_number("--window", raw.window, Count{1}, kManyIters, o.window));
  RETURN_IF_ERROR(read_number("-w/--warmup", raw.warmup, Count{0}, kManyIters, o.warmup));
  RETURN_IF_ERROR(read_number("--seconds", raw.seconds, 0.0001, 3600.0, o.seconds));
  RETURN_IF_ERROR(read_number("-c/--ctas", raw.ctas, 1u, 65536u, o.blocks));
  RETURN_IF_ERROR(read_number("-t/--threads", raw.threads, 1u, 1024u, o.threads));
  RETURN_IF_ERROR(read_type(raw.datatype, o.type));
  RETURN_IF_ERROR(read_choices("-o/--op", raw.op, kReduceOps, o.ops));
  RETURN_IF_ERROR(read_choices("-s/--scope", raw.scope, kScopes, o.scopes));
  RETURN_IF_ERROR(read_choices("-a/--atomic", raw.atomic, kAtomics, o.atomics));
  RETURN_IF_ERROR(
      read_number("-i/--stride", raw.stride, std::ptrdiff_t{1}, std::ptrdiff_t{1} << 20, o.stride));
  RETURN_IF_ERROR(read_number("--pes", raw.pes, 1, 4096, o.pes));
  if (!raw.seed.empty()) {
    std::uint64_t seed = 0;
    RETURN_IF_ERROR(read_number("--seed", raw.seed, std::uint64_t{0},
                                std::numeric_limits<std::uint64_t>::max(), seed));
    o.seed = seed;
  }
  if (raw.csv && raw.json) return mistake("--csv", "with --json", "choose one of the two");
  o.format = raw.csv ? Format::kCsv : raw.json ? Format::kJson : Format::kTable;
  o.bidir = raw.bidir;
  o.msgrate = raw.msgrate;
  o.floor = raw.floor;
  if (raw.tests == std::vector<std::string>{"quick"}) shorten(raw, o);
  return o;
}

void describe_operators(CLI::App& app, Raw& raw) {
  const auto add = [&](const char* name, auto& to, const char* text) {
    app.add_option(name, to, text)->group("Operators");
  };
  add("--vs", raw.vs, "baselines: nccl, cublas, both or none (all that are found)");
  add("--nccl", raw.nccl, "NCCL's library (libnccl.so.2)");
  add("--algorithm", raw.algorithm, "ll, simple, ..., overlapped, ...: for all sizes (the plan's)");
  add("--tile", raw.tile, "of a product, as 128x256 or sm80/128x128 (the plan's)");
  app.add_flag("--tiles", raw.tiles, "gemm: each of its tiles")->group("Operators");
  add("--dtype", raw.dtype, "gemm: bf16, fp16 or e4m3 (bf16)");
  add("--memory", raw.memory, "collectives' buffers: symmetric or plain (symmetric)");
  add("--hidden", raw.hidden, "AllReduceNorm: elements of a row (5120, then 8192)");
  add("--rounds", raw.rounds, "gemm, fused: turns of each (5)");
  add("--pause", raw.pause, "gemm, fused: ms in which the GPU cools before each graph (20)");
  add("--table", raw.table, "tune: file for the table of plans");
  app.add_option("--since", raw.since, "gpu_start: `date +%s%N` before the job was started")
      ->group("Job");
}

void describe(CLI::App& app, Raw& raw) {
  app.add_option("tests", raw.tests, "tests by name, or a set; shapes of matrices, M N K each");
  app.add_option("--api", raw.api, "host, device, kernel or all")->group("What");
  app.add_option("--kind", raw.kind, "latency, bandwidth, rate or all")->group("What");
  app.add_option("-b,--min", raw.min, "smallest size; sizes take k, m, g, t")->group("Sizes");
  app.add_option("-e,--max", raw.max, "largest size")->group("Sizes");
  app.add_option("-f,--step", raw.step, "factor from one size to the next (2)")->group("Sizes");
  app.add_option("-d,--datatype", raw.datatype, "element type: int, uint64, float, ...")
      ->group("What");
  app.add_option("-o,--op", raw.op, "reduction: sum, prod, min, max, and, or, xor, all (sum)")
      ->group("What");
  app.add_option("-a,--atomic", raw.atomic, "atomic: add, fetch_add, compare_swap, ... (all)")
      ->group("What");
  app.add_option("-i,--stride", raw.stride, "elements between neighbours in strided tests (2)")
      ->group("What");
  app.add_flag("--bidir", raw.bidir, "both PEs of a pair send at once")->group("What");
  app.add_option("-n,--iters", raw.iters, "timed operations per line (by time)")->group("Time");
  app.add_option("--window", raw.window, "least operations between two completions (1)")
      ->group("Time");
  app.add_option("-w,--warmup", raw.warmup, "operations before the timed ones (by time)")
      ->group("Time");
  app.add_option("--seconds", raw.seconds, "time per line where -n is not given (0.05)")
      ->group("Time");
  app.add_option("-c,--ctas", raw.ctas, "blocks of a grid (1; operators: the plan's)")
      ->group("Device");
  app.add_option("-t,--threads", raw.threads, "threads of a block (1; operators: the plan's)")
      ->group("Device");
  app.add_option("-s,--scope", raw.scope, "device API: thread, warp, block or all (block)")
      ->group("Device");
  app.add_flag("--floor", raw.floor, "also measure hand-written baselines, and print the speedup")
      ->group("Output");
  app.add_flag("--report-msgrate,--report_msgrate", raw.msgrate,
               "bandwidth tests: also messages per second")
      ->group("Output");
  app.add_flag("--json", raw.json, "one JSON document")->group("Output");
  app.add_flag("--csv", raw.csv, "comma-separated values")->group("Output");
  app.add_option("--pes", raw.pes, "run this many PEs as threads of this process")->group("Job");
  app.add_option("--seed", raw.seed, "of the random contents (fresh)")->group("Job");
  describe_operators(app, raw);
  app.add_flag("--version", raw.version, "print the version");
}

std::string nearest_option(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(nearest(typed.substr(0, typed.find('=')), views));
}

Status unknown_argument(const CLI::App& app) {
  const std::string typed = app.remaining().empty() ? "" : app.remaining().front();
  const std::string near = nearest_option(app, typed);
  return Status::error(Code::kInvalidArgument,
                       fmt::format("unknown option '{}'{}; 'weft-perf --help' lists all", typed,
                                   near.empty() ? "" : fmt::format(", did you mean {}?", near)));
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  Raw raw;
  CLI::App app(kAbout, "weft-perf");
  describe(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return CommandLine{{}, app.help()};
  } catch (const CLI::ExtrasError&) {
    return unknown_argument(app);
  } catch (const CLI::ParseError& error) {
    return Status::error(Code::kInvalidArgument, error.what());
  }
  if (raw.version) return CommandLine{{}, "weft-perf " WEFT_VERSION "\n"};
  ASSIGN_OR_RETURN(Options options, interpret(raw));
  if (options.tests.empty()) return CommandLine{{}, app.help()};
  return CommandLine{std::move(options), ""};
}

}  // namespace weft::perf
