#include "host/transport/ofi/fabric.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/transport/network/random_key.hpp"
#include "src/base/signal_guard.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 14);  // of the interface that is spoken here
constexpr int kKeyAttempts = 16;                       // small keys may be taken

template <std::size_t kSize>
void copy_text(std::array<char, kSize>& to, std::string_view from) {
  std::copy_n(from.begin(), std::min(from.size(), kSize - 1), to.begin());
}

}  // namespace

Result<std::unique_ptr<Fabric>> Fabric::open(const Options& options, bool one_host) {
  ASSIGN_OR_RETURN(const Libfabric* const library, Libfabric::get(options.ofi_library));
  std::unique_ptr<Fabric> made(new Fabric(*library));
  RETURN_IF_ERROR(made->choose({options.ofi_provider, options.ofi_domain, one_host}));
  RETURN_IF_ERROR(made->make());
  return made;
}

Status Fabric::choose(const Wish& wish) {
  ASSIGN_OR_RETURN(const Info hints, needs(library_, wish));
  fi_info* list = nullptr;
  const SignalGuard keeps;  // the first call starts all providers
  const int result = library_.getinfo(kVersion, nullptr, nullptr, 0, hints.get(), &list);
  if (result == -FI_ENODATA)
    return Status::error(
        Code::kUnsupported,
        fmt::format("libfabric has no provider{} that does what ofi needs: reliable messages and "
                    "RMA with delivery complete; see fi_info -l, which lists them",
                    wish.provider == "auto" ? "" : " of WEFT_OFI_PROVIDER=" + wish.provider));
  if (result != 0) return failure(library_, "list networks", "this host", result);
  const Info all(list, FreeInfo{&library_});
  ASSIGN_OR_RETURN(const fi_info* const best, ofi::choose(list, wish));
  info_.reset(library_.dupinfo(best));
  if (info_ == nullptr) return Status::error(Code::kOutOfMemory, "no memory left for libfabric");
  info_->tx_attr->op_flags = 0;  // each operation says itself when it is complete
  copy_text(way_.text, show(*info_));
  copy_text(way_.protocol, info_->fabric_attr->prov_name);
  way_.format = info_->addr_format;
  way_.is_loopback = is_loopback(*info_) ? 1 : 0;
  return Status::ok();
}

Status Fabric::make() {
  const std::string where = describe();
  ASSIGN_OR_RETURN(fabric_, owned<fid_fabric>(
                                library_,
                                [&](fid_fabric** made) {
                                  return library_.fabric(info_->fabric_attr, made, nullptr);
                                },
                                "open the fabric", where));
  ASSIGN_OR_RETURN(domain_, owned<fid_domain>(
                                library_,
                                [&](fid_domain** made) {
                                  return ::fi_domain(fabric_.get(), info_.get(), made, nullptr);
                                },
                                "open the domain", where));
  fi_av_attr names{};
  names.type = info_->domain_attr->av_type;
  ASSIGN_OR_RETURN(
      names_, owned<fid_av>(
                  library_,
                  [&](fid_av** made) { return ::fi_av_open(domain_.get(), &names, made, nullptr); },
                  "make a table of addresses", where));
  RETURN_IF_ERROR(make_queue());
  ASSIGN_OR_RETURN(endpoint_, owned<fid_ep>(
                                  library_,
                                  [&](fid_ep** made) {
                                    return ::fi_endpoint(domain_.get(), info_.get(), made, nullptr);
                                  },
                                  "open an endpoint", where));
  if (const int result = ::fi_ep_bind(endpoint_.get(), &names_->fid, 0); result != 0)
    return failure(library_, "bind the addresses", where, result);
  if (const int result = ::fi_ep_bind(endpoint_.get(), &done_->fid, FI_TRANSMIT | FI_RECV);
      result != 0)
    return failure(library_, "bind the completion queue", where, result);
  if (const int result = ::fi_enable(endpoint_.get()); result != 0)
    return failure(library_, "enable the endpoint", where, result);
  return read_name();
}

// With a file to sleep on, where the provider has one.
Status Fabric::make_queue() {
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.size = info_->tx_attr->size + info_->rx_attr->size;
  queue.wait_obj = FI_WAIT_FD;
  const auto make = [&](fid_cq** made) {
    return ::fi_cq_open(domain_.get(), &queue, made, nullptr);
  };
  auto with_file = owned<fid_cq>(library_, make, "make a completion queue", describe());
  if (with_file.is_ok()) {
    done_ = std::move(*with_file);
    if (::fi_control(&done_->fid, FI_GETWAIT, &file_) == 0) return Status::ok();
    file_ = -1;
    return Status::ok();
  }
  queue.wait_obj = FI_WAIT_NONE;
  ASSIGN_OR_RETURN(done_, owned<fid_cq>(library_, make, "make a completion queue", describe()));
  return Status::ok();
}

Status Fabric::read_name() {
  std::size_t bytes = way_.name.size();
  if (const int result = ::fi_getname(&endpoint_->fid, way_.name.data(), &bytes); result != 0)
    return failure(library_, "ask for the endpoint's address", describe(), result);
  way_.name_bytes = static_cast<std::uint32_t>(bytes);
  return Status::ok();
}

bool Fabric::orders_data(std::uint64_t order, std::uint64_t bytes) const {
  const fi_ep_attr& limits = *info_->ep_attr;
  const std::uint64_t most =
      order == FI_ORDER_WAW ? limits.max_order_waw_size : limits.max_order_raw_size;
  return orders(order) && bytes <= most;
}

std::string Fabric::describe_keys() const {
  if (makes_keys())
    return "memory keys of the provider's own making, which a stranger may guess; "
           "docs/design/trust.md says what follows";
  const std::size_t bits = 8 * std::min(info_->domain_attr->mr_key_size, sizeof(std::uint64_t));
  return fmt::format(
      "memory keys of {} random bits{}", bits,
      bits < 64 ? ", which a stranger may guess; docs/design/trust.md says what follows" : "");
}

std::uint64_t Fabric::key_to_ask_for() const {
  if (makes_keys()) return 0;
  const std::size_t bytes = info_->domain_attr->mr_key_size;
  const std::uint64_t key = network::random_key();
  return bytes < sizeof key ? key & ((std::uint64_t{1} << (8 * bytes)) - 1) : key;
}

Result<Registered> Fabric::register_memory(std::byte* base, std::size_t bytes,
                                           std::uint64_t access) {
  const std::lock_guard lock(mutex_);
  const int mode = info_->domain_attr->mr_mode;
  const std::string what = fmt::format("register {} bytes of memory", bytes);
  const auto make = [&](fid_mr** memory) {
    int result = -FI_ENOKEY;
    for (int attempt = 0; attempt < kKeyAttempts && result == -FI_ENOKEY; ++attempt)
      result =
          ::fi_mr_reg(domain_.get(), base, bytes, access, 0, key_to_ask_for(), 0, memory, nullptr);
    return result;
  };
  ASSIGN_OR_RETURN(Handle<fid_mr> made, owned<fid_mr>(library_, make, what, describe()));
  if ((mode & FI_MR_ENDPOINT) != 0) {
    int result = ::fi_mr_bind(made.get(), &endpoint_->fid, 0);
    if (result == 0) result = ::fi_mr_enable(made.get());
    if (result != 0) return failure(library_, what, describe(), result);
  }
  Registered registered;
  registered.address = (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uint64_t>(base) : 0;
  registered.keys[0] = ::fi_mr_key(made.get());
  registered.local_keys[0] = reinterpret_cast<std::uint64_t>(::fi_mr_desc(made.get()));
  registered.hold = std::shared_ptr<void>(made.release(), [this](void* memory) {
    const std::lock_guard closing(mutex_);
    ::fi_close(&static_cast<fid_mr*>(memory)->fid);
  });
  return registered;
}

// My own reads and writes take it as it is, too.
Result<Registered> Fabric::add_memory(std::byte* base, std::size_t bytes) {
  return register_memory(base, bytes, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
}

Result<Registered> Fabric::add_own_memory(std::byte* base, std::size_t bytes) {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return Registered{};
  return register_memory(base, bytes, FI_SEND | FI_RECV | FI_READ | FI_WRITE);
}

}  // namespace weft::ofi
