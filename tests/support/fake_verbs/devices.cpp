// Devices, and what they say of themselves.
#include <endian.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/support/fake_verbs/state.hpp"

// The structure that ibv_query_port fills: ibv_port_attr as it once was.
struct _compat_ibv_port_attr {
  ibv_port_state state;
  ibv_mtu max_mtu, active_mtu;
  int gid_tbl_len;
  std::uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
  std::uint16_t pkey_tbl_len, lid, sm_lid;
  std::uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, active_speed,
      phys_state, link_layer, flags;
};
static_assert(offsetof(_compat_ibv_port_attr, flags) == offsetof(ibv_port_attr, flags));

namespace weft::fake_verbs {
namespace {

union ibv_gid link_local(int index) {
  union ibv_gid gid {};
  const std::uint8_t raw[16] = {
      0xfe, 0x80, 0, 0,    0,    0, 0, 0,
      2,    0,    0, 0xff, 0xfe, 0, 0, static_cast<std::uint8_t>(1 + index)};
  std::memcpy(gid.raw, raw, sizeof raw);
  return gid;
}

union ibv_gid mapped_ipv4(int index) {
  union ibv_gid gid {};
  const std::uint8_t raw[16] = {
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, static_cast<std::uint8_t>(index), 1};
  std::memcpy(gid.raw, raw, sizeof raw);
  return gid;
}

std::uint64_t number(const char* name, std::uint64_t fallback) {
  const char* const value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 0);
}

void read_environment() {
  State& all = state();
  const char* const link = std::getenv("FAKE_VERBS_LINK");
  const bool is_ib = link != nullptr && std::string_view(link) == "ib";
  const auto count = static_cast<std::size_t>(number("FAKE_VERBS_DEVICES", 1));
  if (all.devices.size() != count || (count > 0 && all.devices[0]->is_ib != is_ib)) {
    all.devices.clear();
    for (std::size_t i = 0; i < count; ++i)
      all.devices.push_back(std::make_unique<Device>(static_cast<int>(i), is_ib));
  }
  const char* const atomics = std::getenv("FAKE_VERBS_ATOMICS");
  const std::string_view kind = atomics == nullptr ? "" : atomics;
  for (const auto& device : all.devices)
    device->atomics = kind == "glob"   ? IBV_ATOMIC_GLOB
                      : kind == "none" ? IBV_ATOMIC_NONE
                                       : IBV_ATOMIC_HCA;
  all.lost_each = number("FAKE_VERBS_DROP_UD", 0);
  all.datagrams = 0;
}

}  // namespace

Device::Device(int number, bool has_lids)
    : ibv_device{},
      index(number),
      is_ib(has_lids),
      lid(static_cast<std::uint16_t>(has_lids ? 1 + number : 0)) {
  node_type = IBV_NODE_CA;
  transport_type = IBV_TRANSPORT_IB;
  std::snprintf(ibv_device::name, sizeof ibv_device::name, "fake%d", number);
  std::snprintf(dev_name, sizeof dev_name, "uverbs%d", number);
  const auto add = [&](const union ibv_gid& gid, ibv_gid_type type) {
    const auto at = static_cast<std::uint32_t>(gids.size());
    gids.push_back({gid, at, 1, type, static_cast<std::uint32_t>(is_ib ? 0 : 2 + number)});
  };
  if (is_ib) {
    add(link_local(number), IBV_GID_TYPE_IB);
    return;
  }
  for (const auto& gid : {link_local(number), mapped_ipv4(number)}) {
    add(gid, IBV_GID_TYPE_ROCE_V1);
    add(gid, IBV_GID_TYPE_ROCE_V2);
  }
}

bool Device::knows(const union ibv_gid& gid, std::uint32_t type) const {
  return std::any_of(gids.begin(), gids.end(), [&](const ibv_gid_entry& entry) {
    return entry.gid_type == type && std::memcmp(entry.gid.raw, gid.raw, sizeof gid.raw) == 0;
  });
}

FAKE_VERB ibv_device** ibv_get_device_list(int* count) {
  if (const int error = failing(__func__)) return refuse(error);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.contexts.empty()) read_environment();
  auto* const list = new ibv_device* [all.devices.size() + 1] {};
  for (std::size_t i = 0; i < all.devices.size(); ++i) list[i] = all.devices[i].get();
  if (count != nullptr) *count = static_cast<int>(all.devices.size());
  return list;
}

FAKE_VERB void ibv_free_device_list(ibv_device** list) { delete[] list; }

FAKE_VERB const char* ibv_get_device_name(ibv_device* device) { return device->name; }

FAKE_VERB int ibv_query_device(ibv_context* context, ibv_device_attr* out) {
  if (const int error = failing(__func__)) return error;
  *out = {};
  std::snprintf(out->fw_ver, sizeof out->fw_ver, "1.0");
  out->node_guid = own<Device>(context->device).gids[0].gid.global.interface_id;
  out->sys_image_guid = out->node_guid;
  out->max_mr_size = ~std::uint64_t{0};
  out->page_size_cap = 4096;
  out->max_qp = 1 << 16;
  out->max_qp_wr = static_cast<int>(kMaxWr);
  out->max_sge = out->max_sge_rd = out->max_srq_sge = static_cast<int>(kMaxSge);
  out->max_cq = out->max_mr = out->max_pd = out->max_ah = out->max_srq = 1 << 16;
  out->max_cqe = kMaxCqe;
  out->max_qp_rd_atom = out->max_qp_init_rd_atom = kMaxReads;
  out->max_res_rd_atom = kMaxReads << 16;
  out->atomic_cap = own<Device>(context->device).atomics;
  out->max_srq_wr = static_cast<int>(kMaxWr);
  out->max_pkeys = 1;
  out->phys_port_cnt = 1;
  return 0;
}

FAKE_VERB int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* out) {
  if (const int error = failing(__func__)) return error;
  if (port != 1) return EINVAL;
  const auto& device = own<Device>(context->device);
  const std::lock_guard lock(state().mutex);
  *out = {};
  out->state = device.is_cut ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  out->max_mtu = out->active_mtu = IBV_MTU_4096;
  out->gid_tbl_len = static_cast<int>(device.gids.size());
  out->max_msg_sz = kMaxMessage;
  out->pkey_tbl_len = 1;
  out->lid = device.lid;
  out->active_width = 2;   // 4x
  out->active_speed = 64;  // HDR: 50 Gbit/s each
  out->phys_state = device.is_cut ? 3 : 5;
  out->link_layer = device.is_ib ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

FAKE_VERB int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* out) {
  const auto& gids = own<Device>(context->device).gids;
  int error = failing(__func__);
  if (port != 1 || index < 0 || static_cast<std::size_t>(index) >= gids.size()) error = EINVAL;
  if (error != 0) {
    errno = error;
    return -1;
  }
  *out = gids[static_cast<std::size_t>(index)].gid;
  return 0;
}

FAKE_VERB ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                       std::size_t max_entries, std::uint32_t flags,
                                       std::size_t entry_size) {
  if (const int error = failing(__func__)) return -error;
  const auto& gids = own<Device>(context->device).gids;
  if (flags != 0 || entry_size != sizeof *entries || max_entries < gids.size()) return -EINVAL;
  std::copy(gids.begin(), gids.end(), entries);
  return static_cast<ssize_t>(gids.size());
}

FAKE_VERB int ibv_get_async_event(ibv_context* context, ibv_async_event* out) {
  if (const int error = failing(__func__)) {
    errno = error;
    return -1;
  }
  return own<Context>(context).events.take(out) ? 0 : -1;
}

FAKE_VERB void ibv_ack_async_event(ibv_async_event*) {}  // ports wait for nobody

}  // namespace weft::fake_verbs
