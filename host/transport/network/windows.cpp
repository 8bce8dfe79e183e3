#include "host/transport/network/windows.hpp"

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::network {

Result<Windows::Place> Windows::open(Platform& platform, const Register& register_memory) {
  const std::size_t bytes = theirs_.size() * kPanes * pane_bytes_;
  ASSIGN_OR_RETURN(memory_, platform.host_visible(bytes));
  ASSIGN_OR_RETURN(registered_, register_memory(memory_.base(), bytes));
  return Place{registered_.address, bytes, registered_.keys};
}

std::byte* Windows::pane_of(int from, int pane, std::uint64_t bytes) const {
  if (memory_.base() == nullptr || pane < 0 || pane >= kPanes || bytes > pane_bytes_ || from < 0 ||
      static_cast<std::size_t>(from) >= theirs_.size())
    return nullptr;
  return memory_.base() + static_cast<std::size_t>(from * kPanes + pane) * pane_bytes_;
}

Result<int> Windows::take(int pe) {
  const std::lock_guard lock(mutex_);
  auto& panes = theirs_[static_cast<std::size_t>(pe)].panes;
  const auto free = std::find(panes.begin(), panes.end(), State::kFree);
  if (free != panes.end()) {
    *free = State::kTaken;
    return static_cast<int>(free - panes.begin());
  }
  if (std::find(panes.begin(), panes.end(), State::kTaken) != panes.end()) return Status::busy();
  return Status::error(
      Code::kPeerLost,
      fmt::format("PE {} has been lost with all that was under way to its GPU memory", pe));
}

void Windows::set(int pe, int pane, State state) {
  if (pane == kNoPane) return;
  const std::lock_guard lock(mutex_);
  theirs_[static_cast<std::size_t>(pe)].panes[static_cast<std::size_t>(pane)] = state;
}

void Windows::give(int pe, int pane) { set(pe, pane, State::kFree); }

void Windows::lose(int pe, int pane) { set(pe, pane, State::kLost); }

// In each window, those of one PE lie at one place.
Heaps::There Windows::there(int pe, int pane, std::uint64_t bytes, std::size_t rail) const {
  const Place& place = theirs_[static_cast<std::size_t>(pe)].place;
  return {place.address + static_cast<std::uint64_t>(pe_ * kPanes + pane) * pane_bytes_,
          place.keys[rail], bytes};
}

}  // namespace weft::network
