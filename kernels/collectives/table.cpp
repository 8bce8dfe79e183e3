#include <weft/kernels/table.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

constexpr std::string_view kHead = "weft-kernels-table 1";
constexpr std::string_view kEscape = "any";
constexpr std::size_t kAnyBytes = ~std::size_t{0};
constexpr std::size_t kMostFile = 1 << 20;
constexpr std::array kCollectives = {Collective::kAllReduce,     Collective::kAllGather,
                                     Collective::kReduceScatter, Collective::kAllToAll,
                                     Collective::kAllToAllV,     Collective::kBroadcast,
                                     Collective::kAllReduceNorm};

using Words = std::vector<std::string>;

Words split(std::string_view line) {
  std::string text(line.substr(0, line.find('#')));
  Words words;
  char* rest = nullptr;
  for (char* at = text.data(); (at = strtok_r(at, " \t\r", &rest)) != nullptr; at = nullptr)
    words.emplace_back(at);
  return words;
}

// One line; `location` is its name and number.
class Line {
 public:
  Line(std::string location, const Words& words) : location_(std::move(location)), words_(words) {}

  Status refuse(const std::string& why) const {
    return Status::error(Code::kInvalidArgument, fmt::format("{}: {}", location_, why));
  }
  template <class T, std::size_t kMany>
  Status choice(std::size_t word, const char* what, const std::array<T, kMany>& all, T* out) const {
    std::string names;
    for (const T one : all) {
      if (words_[word] == to_string(one)) {
        *out = one;
        return Status::ok();
      }
      names += (names.empty() ? "" : ", ") + std::string(to_string(one));
    }
    return refuse(fmt::format("'{}' is no {}; there are {}", words_[word], what, names));
  }
  template <class T>
  Status number(std::size_t word, const char* what, T low, T high, T* out) const {
    const char* const end = words_[word].data() + words_[word].size();
    const auto [rest, error] = std::from_chars(words_[word].data(), end, *out);
    if (error == std::errc() && rest == end && *out >= low && *out <= high) return Status::ok();
    return refuse(fmt::format("{} is '{}', but should be a whole number from {} to {}", what,
                              words_[word], low, high));
  }
  template <class T>
  Status number_or_any(std::size_t word, const char* what, T low, T high, T any, T* out) const {
    if (words_[word] != kEscape) return number(word, what, low, high, out);
    *out = any;
    return Status::ok();
  }

 private:
  std::string location_;
  const Words& words_;
};

Status parse_algorithm(const Line& line, const Words& words, PlanRow* row) {
  std::string names;
  for (const AlgorithmTraits& one : cpu::algorithms_of(row->what)) {
    if (words[3] == one.name.name()) {
      row->algorithm = one.name;
      return Status::ok();
    }
    names += (names.empty() ? "" : ", ") + std::string(one.name.name());
  }
  return line.refuse(
      fmt::format("{} has no algorithm '{}'; there are {}", words[0], words[3], names));
}

Result<PlanRow> parse_row(const Line& line, const Words& words) {
  if (words.size() != 6)
    return line.refuse(fmt::format(
        "has {} words, but should have 6: collective, teams of up to, bytes up to, algorithm, "
        "blocks, threads",
        words.size()));
  PlanRow row;
  RETURN_IF_ERROR(line.choice(0, "collective", kCollectives, &row.what));
  RETURN_IF_ERROR(line.number_or_any(1, "the team's size", 1, 1 << 20, 0, &row.most_pes));
  RETURN_IF_ERROR(
      line.number_or_any(2, "bytes", std::size_t{0}, kAnyBytes - 1, kAnyBytes, &row.up_to));
  RETURN_IF_ERROR(parse_algorithm(line, words, &row));
  RETURN_IF_ERROR(line.number(4, "blocks", 1u, kMostBlocks, &row.blocks));
  RETURN_IF_ERROR(line.number(5, "threads", 1u, kMostThreadsOfBlock, &row.threads));
  return row;
}

bool is_symmetric(const PlanRow& row) {
  return is_by(row.what, row.algorithm, Protocol::kZeroCopy);
}

// A row before it takes all that it could take. Rows of symmetric buffers do not take all calls.
bool is_covered(const PlanRow& row, const std::vector<PlanRow>& before) {
  for (const PlanRow& other : before)
    if (other.what == row.what && other.up_to >= row.up_to &&
        (!is_symmetric(other) || is_symmetric(row)) &&
        (other.most_pes == 0 || (row.most_pes != 0 && row.most_pes <= other.most_pes)))
      return true;
  return false;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status file_error(const std::string& path, const char* what) {
  return Status::error(Code::kIo,
                       fmt::format("the table {} cannot be {}: {}", path, what, strerror(errno)));
}

}  // namespace

std::string format_table(const std::vector<PlanRow>& rows,
                         const std::vector<std::string>& comment) {
  std::string text(kHead);
  text += '\n';
  for (const std::string& line : comment) text += "# " + line + '\n';
  text += "# collective, teams of up to, bytes up to, algorithm, blocks, threads of a block\n";
  for (const PlanRow& row : rows)
    text += fmt::format("{} {} {} {} {} {}\n", to_string(row.what),
                        row.most_pes == 0 ? kEscape : std::to_string(row.most_pes),
                        row.up_to == kAnyBytes ? kEscape : std::to_string(row.up_to),
                        to_string(row.algorithm), row.blocks, row.threads);
  return text;
}

Result<std::vector<PlanRow>> parse_table(std::string_view text, std::string_view name) {
  std::vector<PlanRow> rows;
  bool has_head = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const Words words = split(whole);
    if (words.empty()) continue;
    const Line line(fmt::format("{}:{}", name, number), words);
    if (!has_head) {
      if (words != split(kHead)) return line.refuse(fmt::format("a table begins with '{}'", kHead));
      has_head = true;
      continue;
    }
    ASSIGN_OR_RETURN(const PlanRow row, parse_row(line, words));
    if (is_covered(row, rows))
      return line.refuse("a row above takes all of this one's sizes; put smaller sizes first");
    rows.push_back(row);
  }
  if (rows.empty())
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: {}", name,
                    has_head ? "has no rows" : fmt::format("a table begins with '{}'", kHead)));
  return rows;
}

Result<std::vector<PlanRow>> read_table(const std::string& path) {
  const File file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return file_error(path, "opened");
  std::string text(kMostFile + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return file_error(path, "read");
  if (text.size() > kMostFile)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} has more than {} bytes, as no table has", path, kMostFile));
  return parse_table(text, path);
}

Status write_table(const std::string& path, const std::vector<PlanRow>& rows,
                   const std::vector<std::string>& comment) {
  File file(std::fopen(path.c_str(), "we"), &std::fclose);
  if (file == nullptr) return file_error(path, "opened");
  const std::string text = format_table(rows, comment);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (std::fclose(file.release()) != 0 || !written) return file_error(path, "written");
  return Status::ok();
}

}  // namespace weft::kernels
