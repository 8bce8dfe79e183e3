#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/info/doctor.hpp"
#include "host/topology/facts.hpp"
#include "src/base/status.hpp"

namespace weft::info {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // of a diagnosis as text

std::string packed(const Diagnosis& diagnosis) {
  const nlohmann::json all = {{"host", diagnosis.host},
                              {"pe", diagnosis.pe},
                              {"wrong", diagnosis.wrong},
                              {"text", diagnosis.text},
                              {"data", diagnosis.data}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Diagnosis> unpacked(const std::string& text, int pe) {
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  if (all.is_discarded())
    return Status::error(Code::kInternal,
                         fmt::format("what PE {} found has more than {} bytes", pe, kMostBytes));
  return Diagnosis{all["host"], all["pe"], all["wrong"], all["text"], all["data"]};
}

}  // namespace

Diagnosis diagnosis_of(int pe, std::span<const Section> sections) {
  const Facts facts = discover().value_or(Facts{});
  std::string wrong;
  for (const Section& section : sections) {
    for (const Line& line : section.lines) {
      if (line.mark == Mark::kNo) wrong += fmt::format("{}: {}\n", line.name, line.value);
    }
  }
  return {std::string(facts.host_name()), pe, wrong, as_text(sections), as_json(sections)};
}

Result<std::vector<Diagnosis>> gather(Runtime& runtime, const Diagnosis& mine) {
  ASSIGN_OR_RETURN(char* const words, runtime.callocate<char>(kMostBytes));
  const std::string text = packed(mine);
  std::copy_n(text.data(), std::min(text.size(), kMostBytes - 1), words);
  RETURN_IF_ERROR(runtime.barrier());
  std::vector<Diagnosis> all = {mine};
  std::set<std::string> told = {mine.host, mine.host + mine.wrong};
  for (int pe = 1; runtime.pe() == 0 && pe < runtime.npes(); ++pe) {
    std::string theirs(kMostBytes, '\0');
    RETURN_IF_ERROR(runtime.context().get(theirs.data(), words, kMostBytes, pe));
    ASSIGN_OR_RETURN(Diagnosis found, unpacked(theirs.c_str(), pe));
    const bool new_host = told.insert(found.host).second;
    const bool new_wrong = told.insert(found.host + found.wrong).second;
    if (new_host || new_wrong) all.push_back(std::move(found));
  }
  RETURN_IF_ERROR(runtime.barrier());
  return all;
}

}  // namespace weft::info
