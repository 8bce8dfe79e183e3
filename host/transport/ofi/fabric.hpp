// Fabric: what libfabric opens for a PE, and what it can do. One provider, one device, one endpoint
// for messages and RMA with everybody.
//
// Its lock is the only one around libfabric's calls: the provider is told that it need have none.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/transport/network/memory.hpp"
#include "host/transport/ofi/choice.hpp"
#include "host/transport/ofi/messages.hpp"

namespace weft::ofi {

using network::Registered;

class Fabric {
 public:
  // For a job whose PEs are all on this host, or are not.
  static Result<std::unique_ptr<Fabric>> open(const Options& options, bool one_host);

  const Libfabric& library() const { return library_; }
  const Way& way() const { return way_; }
  // "tcp;ofi_rxm on eth0 (192.0.2.2)"
  std::string describe() const { return way_.text.data(); }
  // Whether strangers may guess the keys of memory: "memory keys of 64 random bits".
  std::string describe_keys() const;
  std::uint64_t max_bytes() const { return info_->ep_attr->max_msg_size; }
  std::size_t most_receives() const { return info_->rx_attr->size; }
  // In a put that is a request. A provider that moves nothing unless polled has no device to do it.
  std::size_t most_payload() const {
    return info_->domain_attr->data_progress == FI_PROGRESS_AUTO ? Request::kPayload
                                                                 : Request::kLargePayload;
  }
  // Whether what is posted second takes effect behind what is posted first: FI_ORDER_SAW and so on.
  bool orders(std::uint64_t order) const {
    return (info_->tx_attr->msg_order & info_->rx_attr->msg_order & order) == order;
  }
  // The same of the bytes of writes (FI_ORDER_WAW) or reads (FI_ORDER_RAW) behind writes.
  bool orders_data(std::uint64_t order, std::uint64_t bytes) const;

  // Memory that others reach, by a key that they must be told. Takes the lock, and so does its
  // release.
  Result<Registered> add_memory(std::byte* base, std::size_t bytes);
  // Memory of messages and staging, which nobody reaches; nothing is done where the provider takes
  // any.
  Result<Registered> add_own_memory(std::byte* base, std::size_t bytes);

  // These are called under the lock.
  std::mutex& mutex() { return mutex_; }
  fid_fabric* fabric() const { return fabric_.get(); }
  fid_av* names() const { return names_.get(); }
  fid_cq* done() const { return done_.get(); }
  fid_ep* endpoint() const { return endpoint_.get(); }
  void close_endpoint() { endpoint_.reset(); }
  // Open as it is, for good, and with it what it hangs on.
  void leave_endpoint() { static_cast<void>(endpoint_.release()); }
  // The queue's file, to sleep on; -1: it has none.
  int file() const { return file_; }

 private:
  explicit Fabric(const Libfabric& library) : library_(library) {}
  Status choose(const Wish& wish);
  bool makes_keys() const { return (info_->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0; }
  std::uint64_t key_to_ask_for() const;
  Result<Registered> register_memory(std::byte* base, std::size_t bytes, std::uint64_t access);
  Status make();
  Status make_queue();
  Status read_name();

  const Libfabric& library_;
  Info info_{nullptr, FreeInfo{&library_}};
  Way way_;
  std::mutex mutex_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> names_;
  Handle<fid_cq> done_;
  Handle<fid_ep> endpoint_;
  int file_ = -1;
};

}  // namespace weft::ofi
