// Apart from the registry, which tests replace.
#include "host/transport/transport.hpp"
#include "src/base/status.hpp"

namespace weft {

Result<Facts> facts_of(const TransportEnv& env) {
  if (env.facts != nullptr && !env.facts->empty())
    return (*env.facts)[static_cast<std::size_t>(env.pe)];
  ASSIGN_OR_RETURN(Facts mine, discover());
  if (env.options != nullptr)
    mine.part = part_of_machine(env.options->pretend_hosts, env.pe, env.npes);
  return mine;
}

}  // namespace weft
