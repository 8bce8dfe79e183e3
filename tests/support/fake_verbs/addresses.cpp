// Where things are sent to.
#include <cstring>

#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {

bool is_valid(const Device& device, const ibv_ah_attr& address) {
  if (address.port_num != 1 || (!device.is_ib && address.is_global == 0)) return false;
  return address.is_global == 0 || address.grh.sgid_index < device.gids.size();
}

bool names(const Device& from, const ibv_ah_attr& address, const Device& device) {
  if (device.is_ib && address.dlid != device.lid) return false;
  if (address.is_global == 0) return device.is_ib;
  return device.knows(address.grh.dgid, from.gids[address.grh.sgid_index].gid_type);
}

FAKE_VERB ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (const int error = failing(__func__)) return refuse(error);
  if (!is_valid(own<Device>(pd->context->device), *attr)) return refuse(EINVAL);
  const std::lock_guard lock(state().mutex);
  auto* const ah = new Ah;
  ah->context = pd->context;
  ah->pd = pd;
  ah->handle = 0;
  ah->attr = *attr;
  ++own<Pd>(pd).users;
  ++state().live.ahs;
  return ah;
}

FAKE_VERB int ibv_destroy_ah(ibv_ah* ah) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  --own<Pd>(ah->pd).users;
  --state().live.ahs;
  delete &own<Ah>(ah);
  return 0;
}

}  // namespace weft::fake_verbs
