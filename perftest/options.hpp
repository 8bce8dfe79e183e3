// The command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <weft/result.hpp>

#include "perftest/baselines.hpp"
#include "perftest/timer.hpp"
#include "perftest/vocabulary.hpp"

namespace weft::perf {

enum class Format : std::uint8_t { kTable, kCsv, kJson };

// C[m, n] = A[m, k] * B[n, k]^T.
struct Shape {
  int m = 0, n = 0, k = 0;
};

// The options of operators' rows; empty texts and zeros leave the choice to the operator's plan.
struct OperatorOptions {
  Baselines baselines;
  std::string nccl = "libnccl.so.2";
  std::string algorithm, tile, dtype = "bf16";
  bool tiles = false;     // every tile of Gemm
  bool symmetric = true;  // buffers of collectives lie in symmetric memory
  unsigned blocks = 0, threads = 0;
  std::size_t hidden = 0;  // of an AllReduceNorm's rows; 0: 5120, then 8192
  int rounds = 5, pause_ms = 20;
  std::vector<Shape> shapes;  // empty: those of the row
  std::string table;          // file for a table of plans; empty: none is written
};

struct Options {
  std::vector<std::string> tests;  // names, or one of: all, quick, claims, list
  std::optional<Api> api;          // unset: every API that a test has
  std::optional<Kind> kind;
  std::optional<std::uint64_t> min, max;  // sizes in bytes; unset: each test's own
  double step = 2;
  Count iters = 0;        // 0: as many as fit into `seconds`
  Count window = 1;       // at least, of one sample
  Count warmup = 0;       // on top of what finding the batch size takes
  double seconds = 0.05;  // per line
  unsigned blocks = 1, threads = 1;
  const TypeInfo* type = nullptr;  // null: each test's own
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  std::vector<Atomic> atomics;  // empty: all
  std::vector<ScopeKind> scopes = {ScopeKind::kBlock};
  std::ptrdiff_t stride = 2;
  bool bidir = false, msgrate = false, floor = false;
  Format format = Format::kTable;
  int pes = 0;  // 0: the launcher's; else that many threads of this process
  std::optional<std::uint64_t> seed;
  OperatorOptions op;
  std::uint64_t since = 0;  // ns of the system's clock before the start; 0: not given
};

struct CommandLine {
  Options options;
  std::string text;  // not empty: print this (help, version) and leave with status 0
};

// A mistake gives kInvalidArgument; the text names option, value and what is allowed.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace weft::perf
