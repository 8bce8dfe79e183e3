#include "host/transport/ib/port.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "host/transport/ib/gid.hpp"

namespace weft::ib {

namespace {

constexpr int kMostReads = 16;

std::string show(const PortWish& wish) {
  return wish.port == 0 ? wish.device : fmt::format("{}:{}", wish.device, wish.port);
}

struct Devices {
  Devices(const Verbs& functions, ibv_device** all, int number)
      : verbs(functions), list(all), count(number) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices() { verbs.free_device_list(list); }
  const Verbs& verbs;
  ibv_device** list;
  int count;
};

}  // namespace

Result<Port> Port::open(const Verbs& verbs, const PortWish& wish, int gid_index) {
  int count = 0;
  ibv_device** const list = verbs.get_device_list(&count);
  if (list == nullptr) return failure("list RDMA devices", "this host", errno);
  const Devices devices(verbs, list, count);
  std::string seen;
  for (int i = 0; i < count; ++i) {
    const std::string device = verbs.get_device_name(list[i]);
    if (!wish.device.empty() && wish.device != device) {
      seen += fmt::format("; {} is not asked for", device);
      continue;
    }
    Port port(verbs);
    port.reason_ = wish.reason;
    Status opened = port.open_device(list[i]);
    for (int number = 1; opened.is_ok() && number <= port.limits_.phys_port_cnt; ++number) {
      if (wish.port != 0 && wish.port != number) continue;
      opened = port.open_port(number);
      if (opened.is_ok()) opened = port.choose_gid(gid_index);
      if (opened.is_ok()) return port;
      seen += fmt::format("; {}", opened.text());
      opened = Status::ok();
    }
    if (!opened.is_ok()) seen += fmt::format("; {}", opened.text());
  }
  return Status::error(Code::kUnsupported,
                       fmt::format("no RDMA port can be used{}: {}",
                                   wish.device.empty() ? "" : " of WEFT_IB_DEVICE=" + show(wish),
                                   seen.empty() ? "this host has no RDMA device" : seen.substr(2)));
}

Status Port::open_device(ibv_device* device) {
  name_ = verbs_->get_device_name(device);
  ASSIGN_OR_RETURN(context_, owned([&] { return verbs_->open_device(device); },
                                   verbs_->close_device, "open the RDMA device", name_));
  if (const int error = verbs_->query_device(context_.get(), &limits_); error != 0)
    return failure("ask for the abilities", name_, error);
  ASSIGN_OR_RETURN(domain_, owned([&] { return verbs_->alloc_pd(context_.get()); },
                                  verbs_->dealloc_pd, "make a protection domain", name_));
  return Status::ok();
}

Status Port::open_port(int number) {
  number_ = static_cast<std::uint8_t>(number);
  name_ = fmt::format("{} port {}", name_.substr(0, name_.find(' ')), number);
  ibv_port_attr attributes{};
  // The library fills what its own, older, structure has: the beginning of mine.
  auto* const older = reinterpret_cast<_compat_ibv_port_attr*>(&attributes);
  if (const int error = verbs_->query_port(context_.get(), number_, older); error != 0)
    return failure("look at the port", name_, error);
  if (attributes.state != IBV_PORT_ACTIVE)
    return Status::error(Code::kUnsupported,
                         fmt::format("{} is not active (state {}); see `ip link` or ibstat", name_,
                                     static_cast<int>(attributes.state)));
  address_.lid = attributes.lid;
  address_.link_layer = attributes.link_layer;
  address_.mtu = static_cast<std::uint8_t>(attributes.active_mtu);
  address_.reads = static_cast<std::uint8_t>(std::clamp(limits_.max_qp_rd_atom, 1, kMostReads));
  address_.atomic_cap = static_cast<std::uint8_t>(limits_.atomic_cap);
  const std::size_t length = std::min(name_.size(), address_.name.size() - 1);
  std::copy_n(name_.begin(), length, address_.name.begin());
  return Status::ok();
}

Status Port::choose_gid(int wanted) {
  std::vector<ibv_gid_entry> table(1024);
  const auto found =
      verbs_->query_gid_table(context_.get(), table.data(), table.size(), 0, sizeof(ibv_gid_entry));
  if (found < 0) return failure("read the GID table", name_, static_cast<int>(-found));
  table.resize(static_cast<std::size_t>(found));
  std::erase_if(table, [&](const ibv_gid_entry& each) { return each.port_num != number_; });
  ASSIGN_OR_RETURN(const ibv_gid_entry* const best, best_gid(table, wanted, name_));
  gid_index_ = static_cast<std::uint8_t>(best->gid_index);
  gid_text_ = show_gid(*best);
  std::memcpy(address_.gid.data(), best->gid.raw, address_.gid.size());
  return Status::ok();
}

std::string Port::describe() const {
  const std::string way = address_.link_layer == IBV_LINK_LAYER_ETHERNET
                              ? fmt::format("{} by GID {}", gid_text_, gid_index_)
                              : fmt::format("InfiniBand by LID {}", address_.lid);
  const bool is_global = address_.atomic_cap == IBV_ATOMIC_GLOB;
  const char* const owner = owns_atomics_ ? "the device for all PEs (WEFT_IB_ATOMICS=nic)"
                            : is_global   ? "the device"
                                          : "the owner of the word";
  return fmt::format("{}, {}, atomics by {}{}{}", name_, way, owner, reason_.empty() ? "" : ": ",
                     reason_);
}

std::string Port::why_not(const PortAddress& there) const {
  if (there.link_layer == address_.link_layer) return "";
  const auto layer = [](const PortAddress& port) {
    return port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
  };
  return fmt::format("its {} is on {} and {} on {}; choose with WEFT_IB_DEVICE", there.text(),
                     layer(there), name_, layer(address_));
}

ibv_ah_attr Port::way_to(const PortAddress& there) const {
  ibv_ah_attr way{};
  way.port_num = number_;
  way.dlid = there.lid;
  way.is_global = there.link_layer == IBV_LINK_LAYER_ETHERNET || there.lid == 0;
  if (way.is_global == 0) return way;
  std::memcpy(way.grh.dgid.raw, there.gid.data(), there.gid.size());
  way.grh.sgid_index = gid_index_;
  way.grh.hop_limit = 64;
  return way;
}

std::uint8_t Port::reads_to(const PortAddress& there) const {
  const int most = std::min<int>(limits_.max_qp_init_rd_atom, there.reads);
  return static_cast<std::uint8_t>(std::max(most, 1));
}

int Port::heap_access() const {
  constexpr int kMoves = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const bool does_atomics = owns_atomics_ || address_.atomic_cap == IBV_ATOMIC_GLOB;
  return does_atomics ? kMoves | IBV_ACCESS_REMOTE_ATOMIC : kMoves;
}

Result<Handle<ibv_mr>> Port::add_memory(void* base, std::size_t bytes, int access) const {
  return owned([&] { return verbs_->reg_mr(domain(), base, bytes, access); }, verbs_->dereg_mr,
               fmt::format("register {} bytes of memory", bytes), name_);
}

Result<Handle<ibv_mr>> Port::add_file(const Dmabuf& file, Range memory, int access) const {
  if (verbs_->reg_dmabuf_mr == nullptr)
    return Status::error(Code::kUnsupported,
                         "libibverbs has no ibv_reg_dmabuf_mr; that of rdma-core 34 and later has");
  const auto make = [&] {
    return verbs_->reg_dmabuf_mr(domain(), file.offset, memory.bytes,
                                 reinterpret_cast<std::uint64_t>(memory.base), file.file.get(),
                                 access);
  };
  return owned(make, verbs_->dereg_mr,
               fmt::format("register {} bytes of GPU memory by its dmabuf", memory.bytes), name_);
}

Result<Handle<ibv_cq>> Port::make_cq(int entries, ibv_comp_channel* channel) const {
  const int fitting = std::min(entries, limits_.max_cqe);
  return owned([&] { return verbs_->create_cq(context(), fitting, nullptr, channel, 0); },
               verbs_->destroy_cq, "make a completion queue", name_);
}

Result<Handle<ibv_srq>> Port::make_srq(int entries) const {
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = static_cast<std::uint32_t>(entries);
  wanted.attr.max_sge = 1;
  return owned([&] { return verbs_->create_srq(domain(), &wanted); }, verbs_->destroy_srq,
               "make a shared receive queue", name_);
}

Result<Handle<ibv_qp>> Port::make_qp(ibv_qp_init_attr& wanted) const {
  return owned([&] { return verbs_->create_qp(domain(), &wanted); }, verbs_->destroy_qp,
               "make a queue pair", name_);
}

Status Port::modify(ibv_qp* qp, ibv_qp_attr& attributes, int mask, std::string_view action) const {
  const int error = verbs_->modify_qp(qp, &attributes, mask);
  return error == 0 ? Status::ok() : failure(action, name_, error);
}

}  // namespace weft::ib
