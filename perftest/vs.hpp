// Whom rows are compared with: --vs nccl,cublas, which is everybody, or some of them, or none.
#pragma once

#include <optional>
#include <string_view>

namespace weft::perf {

struct Peers {
  bool nccl = true, cublas = true;
};

// Nothing of a list that names somebody else.
inline std::optional<Peers> peers_named(std::string_view list) {
  Peers peers{false, false};
  if (list == "none") return peers;
  while (true) {
    const std::size_t end = list.find(',');
    const std::string_view name = list.substr(0, end);
    if (name != "nccl" && name != "cublas") return std::nullopt;
    (name == "nccl" ? peers.nccl : peers.cublas) = true;
    if (end == std::string_view::npos) return peers;
    list.remove_prefix(end + 1);
  }
}

}  // namespace weft::perf
