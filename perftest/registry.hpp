// The table of tests. A row says what is measured; tests/*.cpp hold the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perftest/options.hpp"
#include "perftest/test.hpp"

namespace weft::perf {

// Which options a row listens to, besides the general ones.
enum Uses : unsigned {
  kUsesSize = 1,
  kUsesType = 2,
  kUsesOp = 4,
  kUsesAtomic = 8,
  kUsesScope = 16,
  kUsesStride = 32,
  kUsesShape = 64,   // Line::shape, of a grid or of matrices
  kUsesLayer = 128,  // Line::layer
  kUsesFlops = 256,  // products of matrices: TFLOP/s
};

using Make = Result<std::unique_ptr<Test>> (*)(Job& job, const Point& point);

struct Row;
class Reporter;
// Measures rows of one set by itself, in kernels or CUDA graphs, and reports their lines; what is
// costly to make, such as a communicator of NCCL's, serves all of them. Collective.
using RunRows = Status (*)(Job& job, std::span<const Row* const> rows, Reporter& out);
// Measures before this process is a PE. Every PE reports.
using RunStart = Status (*)(const Options& options, const Row& row, Reporter& out);

struct Row {
  std::string_view name;
  Api api = Api::kHost;
  Kind kind = Kind::kLatency;
  std::string_view what;        // what one iteration does, and what its time therefore is
  std::string_view formula;     // how the printed numbers come from the clock
  std::string_view floor = {};  // the baseline; empty: there is none
  int min_pes = 2;
  unsigned uses = 0;
  std::uint64_t min = 8, max = 4u << 20;     // sizes, where -b and -e are not given
  std::string_view type = "uint64";          // element type, where -d is not given
  bool (*takes)(const TypeInfo&) = nullptr;  // types that the row can do; null: all
  bool pinned = true;  // host API: each PE's thread stays on a core of its own, if there are enough
  // One of these. What `make` makes is timed by measure.cpp.
  Make make = nullptr;
  RunRows run = nullptr;
  RunStart start = nullptr;
  std::string_view set = {};  // the name that stands for the row and its like; empty: all
  bool gpu = false;           // each PE needs a GPU
};

// Whether measure.cpp leaves the timing to the row: its baseline is always measured.
inline bool times_itself(const Row& row) { return row.run != nullptr || row.start != nullptr; }

// "put_lat", "put_bw", "put_rate": the full name; with the API it is unique.
std::string id(const Row& row);

// All rows but those of modules (module.hpp), in the order in which they are listed and run.
const std::vector<Row>& registry();

// Rows that the names stand for, in the table's order, without repetition. A name is a row's name
// or full name, or one of all and quick. An unknown name gives kInvalidArgument with the nearest.
Result<std::vector<const Row*>> select(const std::vector<Row>& rows, const Options& options);

// The lines of a row's table: sizes by reductions, atomics and scopes, as far as its options and
// types go together. Empty when none do.
std::vector<Point> points(const Row& row, const Options& options);

// The sizes from which and to which a row goes.
struct Range {
  std::uint64_t low, high;
};
Range range(const Row& row, const Options& options);

// The text that 'weft-perf list' prints: the rows that the other names on the line stand for, or
// every row.
Result<std::string> list(const std::vector<Row>& rows, const Options& options);

// Defined in tests/*.cpp.
std::vector<Row> put_rows();
std::vector<Row> get_rows();
std::vector<Row> scalar_rows();
std::vector<Row> strided_rows();
std::vector<Row> signal_rows();
std::vector<Row> atomic_rows();
std::vector<Row> barrier_rows();
std::vector<Row> collective_rows();
std::vector<Row> reduction_rows();
std::vector<Row> device_put_rows();
std::vector<Row> device_get_rows();
std::vector<Row> device_scalar_rows();
std::vector<Row> device_signal_rows();
std::vector<Row> device_atomic_rows();
std::vector<Row> device_barrier_rows();
std::vector<Row> device_collective_rows();
std::vector<Row> device_reduce_rows();
std::vector<Row> device_reducescatter_rows();
std::vector<Row> device_scan_inclusive_rows();
std::vector<Row> device_scan_exclusive_rows();
std::vector<Row> launch_rows();
std::vector<Row> memory_rows();
std::vector<Row> startup_rows();

}  // namespace weft::perf
