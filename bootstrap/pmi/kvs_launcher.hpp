// A launcher whose processes share a store of keys and short values: a broadcast is put, fence,
// get.
#pragma once

#include "bootstrap/launcher.hpp"

namespace weft::pmi {

class KvsLauncher : public Launcher {
 public:
  Result<std::string> broadcast(std::string_view text, const Deadline& deadline) final;

 protected:
  // By PE 0; a key is put once.
  virtual Status put(const std::string& key, const std::string& value,
                     const Deadline& deadline) = 0;
  // Collective: what was put before can be got after.
  virtual Status fence(const Deadline& deadline) = 0;
  virtual Result<std::string> get(const std::string& key, const Deadline& deadline) = 0;
  // Characters that a value may have; 3 at least.
  virtual std::size_t most_value() const = 0;

 private:
  Status put_pieces(std::string_view text, const Deadline& deadline);
  std::string key(int piece) const;

  int round_ = 0;
};

// True if PMI_process_mapping, "(vector,(first host,hosts,processes on each),...)", places all
// processes on one host. False if it is not understood.
bool maps_to_one_host(std::string_view mapping);

}  // namespace weft::pmi
