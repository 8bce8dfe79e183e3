#include "host/team/ids.hpp"

#include <optional>

#include "src/base/status.hpp"

namespace weft {

// Counts among those that wait, for as long as it lives.
class TeamIds::Try {
 public:
  Try(TeamIds& ids, Key key) : ids_(ids), key_(key) {
    const std::lock_guard lock(ids_.mutex_);
    ids_.waiting_.insert(key_);
  }
  ~Try() {
    const std::lock_guard lock(ids_.mutex_);
    ids_.waiting_.erase(key_);
  }
  Try(const Try&) = delete;
  Try& operator=(const Try&) = delete;

  // All that are free, if nobody else is being offered any and it is this one's turn; else none.
  Bits offer() {
    const std::lock_guard lock(ids_.mutex_);
    Bits bits = ids_.free_.bits();
    has_offer_ = !ids_.is_offering_ && *ids_.waiting_.begin() == key_;
    if (!has_offer_) return Bits(bits.size(), 0);
    ids_.is_offering_ = true;
    return bits;
  }
  // The offer has been answered: `id` goes, if it is one, the others are free for others.
  void settle(int id, bool takes) {
    const std::lock_guard lock(ids_.mutex_);
    if (has_offer_) ids_.is_offering_ = false;
    if (id >= 0 && takes) ids_.free_.take(id);
  }

 private:
  TeamIds& ids_;
  const Key key_;
  bool has_offer_ = false;
};

void TeamIds::take(int id) {
  const std::lock_guard lock(mutex_);
  free_.take(id);
}

void TeamIds::give(int id) {
  const std::lock_guard lock(mutex_);
  free_.give(id);
}

Result<int> TeamIds::agree(Key key, bool takes, const LowestOfAll& lowest_of_all) {
  const auto all_free = [&] {
    const std::lock_guard lock(mutex_);
    return free_.bits();
  };
  std::optional<Try> mine;
  while (true) {
    ASSIGN_OR_RETURN(const int free, lowest_of_all(all_free()));
    if (free < 0) return free;
    if (!mine) mine.emplace(*this, key);
    const Result<int> id = lowest_of_all(mine->offer());
    mine->settle(id.is_ok() ? *id : -1, takes);
    if (!id || *id >= 0) return id;
  }
}

}  // namespace weft
