// How a step of a collective script is called on the host, and the teams of a script.
#pragma once

#include <algorithm>
#include <vector>

#include <weft/collective.hpp>
#include <weft/runtime.hpp>

#include "src/base/status.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/pe_group.hpp"

namespace weft::script {

template <class T>
Status call_on_host(Context& ctx, const Team& team, const Step& step, T* dst, const T* src,
                    std::size_t source_count) {
  switch (step.kind) {
    case Kind::kSync: return sync(ctx, team);
    case Kind::kBarrier: return barrier(ctx, team);
    case Kind::kBroadcast: return broadcast(ctx, team, dst, src, step.count, step.root);
    case Kind::kFcollect: return fcollect(ctx, team, dst, src, step.count);
    case Kind::kCollect: return collect(ctx, team, dst, src, source_count);
    case Kind::kAlltoall: return alltoall(ctx, team, dst, src, step.count);
    case Kind::kAlltoalls:
      return alltoalls(ctx, team, dst, src, step.dst_stride, step.src_stride, step.count);
    case Kind::kReduce: return reduce(ctx, team, dst, src, step.count, step.op);
    case Kind::kReduceScatter: return reducescatter(ctx, team, dst, src, step.count, step.op);
    case Kind::kScanInclusive: return scan_inclusive(ctx, team, dst, src, step.count, step.op);
    default: return scan_exclusive(ctx, team, dst, src, step.count, step.op);
  }
}

// pe_groups(), less what ThreadSanitizer cannot judge. With every put late, two threads of a
// process (a waiter and the proxy) write the same slot of a peer, in exchanges far apart; what
// orders them is that the peer has answered in between. When the peer is another process, that part
// of the chain is out of the tool's sight. With PEs as threads it sees all of it, and that is
// tested.
inline std::vector<PeGroup> collective_groups(const std::vector<int>& npes) {
  std::vector<PeGroup> groups = pe_groups(npes);
#if defined(__SANITIZE_THREAD__)
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const PeGroup& group) {
                                return group.pes == Pes::kProcesses && !group.options.fault.empty();
                              }),
               groups.end());
#endif
  return groups;
}

// My values of the script's teams. Strided where the script says 0, 1, 2, ...: the world.
inline Result<std::vector<Team>> make_teams(Runtime& rt, const Script& script) {
  std::vector<Team> teams = {rt.world()};
  for (std::size_t i = 1; i < script.teams.size(); ++i) {
    ASSIGN_OR_RETURN(const Team team, rt.team_from_list(rt.world(), script.teams[i]));
    teams.push_back(team);
  }
  return teams;
}

}  // namespace weft::script
