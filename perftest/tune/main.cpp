// weft-tune: measures which way of carrying collectives out is best on this machine, and writes a
// table that operators take where WEFT_KERNELS_TABLE names it.
//
//   weft-run -n 8 weft-tune FILE           PEs are processes, on GPUs where there are
//   weft-tune --pes 2 FILE                 PEs are threads
//     --what NAME                          one collective; else all
//     --from BYTES --to BYTES              sizes: powers of two; 1024 to 134217728, on host threads
//                                          to 262144, by default
//     --verbose 1                          every measurement
//
// Exit status: 0; 1 a failure; 2 a mistake on the command line.
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <weft/kernels/table.hpp>
#include <weft/weft.hpp>

#include "perftest/status.hpp"
#include "perftest/tune/tune.hpp"

namespace weft::perf::tune {
namespace {

using kernels::Collective;
using kernels::PlanRow;

constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kAllToAll,
                               Collective::kAllToAllV,     Collective::kBroadcast,
                               Collective::kAllReduceNorm};
constexpr std::size_t kLeast = 16, kMost = std::size_t{1} << 32;

struct Choices {
  int pes = 0;  // as threads; 0: this process is one
  std::optional<Collective> what;
  std::size_t from = 1024, to = 0;  // 0: by default
  bool verbose = false;
  std::string file;
};

Status run_pe(Runtime& runtime, const Choices& choices) {
  const bool gpu = runtime.gpu() >= 0, speaks = runtime.pe() == 0;
  const std::size_t to = choices.to != 0 ? choices.to : std::size_t{gpu ? 128u << 20 : 256u << 10};
  std::vector<PlanRow> table;
  for (const Collective what : kAll) {
    if (choices.what && *choices.what != what) continue;
    const auto say = [&](const Measured& m) {
      if (speaks && choices.verbose)
        fmt::print("{:14} {:>10} {:>10.2f} us  {}, {} blocks of {}\n", to_string(what), m.bytes,
                   m.us, to_string(m.way.algorithm), m.way.blocks, m.way.threads);
    };
    ASSIGN_OR_RETURN(const std::vector<PlanRow> rows, tune(runtime, what, {choices.from, to}, say));
    table.insert(table.end(), rows.begin(), rows.end());
  }
  if (!speaks) return Status::ok();
  const std::vector<std::string> comment = {
      fmt::format("weft-tune {}: {} PEs on {}, {} to {} bytes", WEFT_VERSION, runtime.npes(),
                  gpu ? "GPUs" : "host threads", choices.from, to)};
  RETURN_IF_ERROR(kernels::write_table(choices.file, table, comment));
  fmt::print("{}\nWEFT_KERNELS_TABLE={} takes it.\n", kernels::format_table(table, comment),
             choices.file);
  return Status::ok();
}

Status run(const Choices& choices) {
  const auto body = [&](Runtime& runtime) { return run_pe(runtime, choices); };
  ASSIGN_OR_RETURN(const Options options, Options::from_environment());
  if (choices.pes > 0) return run_local(choices.pes, body, options);
  ASSIGN_OR_RETURN(Runtime runtime, Runtime::create(options));
  return body(runtime);
}

template <class T>
bool read(const std::string& text, T low, T high, T& out) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && rest == end && out >= low && out <= high;
}

bool read_option(std::string_view name, const std::string& value, Choices& choices) {
  if (name == "--pes") return read(value, 1, 64, choices.pes);
  if (name == "--from") return read(value, kLeast, kMost, choices.from);
  if (name == "--to") return read(value, kLeast, kMost, choices.to);
  if (name == "--verbose") {
    choices.verbose = value == "1";
    return value == "0" || value == "1";
  }
  for (const Collective what : kAll)
    if (name == "--what" && value == to_string(what)) choices.what = what;
  return name == "--what" && choices.what;
}

// None: said why not.
std::optional<Choices> parse(int argc, char** argv) {
  Choices choices;
  int i = 1;
  for (; i + 1 < argc; i += 2)
    if (!read_option(argv[i], argv[i + 1], choices)) {
      fmt::print(stderr, "weft-tune: {} {}: no such option, or not a value of it\n", argv[i],
                 argv[i + 1]);
      return std::nullopt;
    }
  if (i == argc || argv[i][0] == '-') {
    fmt::print(stderr,
               "usage: [weft-run -n N] weft-tune [--pes N] [--what NAME] [--from BYTES] "
               "[--to BYTES] [--verbose 1] FILE\n");
    return std::nullopt;
  }
  choices.file = argv[i];
  if (choices.to != 0 && choices.to < choices.from) {
    fmt::print(stderr, "weft-tune: --to {} is less than --from {}\n", choices.to, choices.from);
    return std::nullopt;
  }
  return choices;
}

}  // namespace
}  // namespace weft::perf::tune

int main(int argc, char** argv) {
  const auto choices = weft::perf::tune::parse(argc, argv);
  if (!choices) return 2;
  const weft::Status status = weft::perf::tune::run(*choices);
  if (!status.is_ok()) fmt::print(stderr, "weft-tune: {}\n", status.to_string());
  return status.is_ok() ? 0 : 1;
}
