// The baselines that operators are timed beside: --vs nccl,cublas, which is all of them, or some,
// or none.
#pragma once

#include <optional>
#include <string_view>

namespace weft::perf {

struct Baselines {
  bool nccl = true, cublas = true;
};

// Nothing of a list that names another one.
inline std::optional<Baselines> baselines_named(std::string_view list) {
  Baselines baselines{false, false};
  if (list == "none") return baselines;
  while (true) {
    const std::size_t end = list.find(',');
    const std::string_view name = list.substr(0, end);
    if (name != "nccl" && name != "cublas") return std::nullopt;
    (name == "nccl" ? baselines.nccl : baselines.cublas) = true;
    if (end == std::string_view::npos) return baselines;
    list.remove_prefix(end + 1);
  }
}

}  // namespace weft::perf
