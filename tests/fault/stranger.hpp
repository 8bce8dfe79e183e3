// Stranger: somebody who speaks libfabric to a PE's port and is no member of its job.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "host/transport/ofi/libfabric.hpp"
#include "src/base/status.hpp"

namespace weft {

class Stranger {
 public:
  // An endpoint over tcp that knows one listener of this host.
  static Result<std::unique_ptr<Stranger>> open(const sockaddr_in& address) {
    ASSIGN_OR_RETURN(const ofi::Libfabric* const library, ofi::Libfabric::get(""));
    std::unique_ptr<Stranger> made(new Stranger(*library));
    RETURN_IF_ERROR(made->make(address));
    return made;
  }

  // Whether the other side did it; of an atomic and a message, whether it was sent.
  bool read(std::uint64_t address, std::uint64_t key, std::span<std::byte> to) {
    return completes([&] {
      return ::fi_read(ep(), to.data(), to.size(), nullptr, there_, address, key, &mark_);
    });
  }
  bool write(std::uint64_t address, std::uint64_t key, std::span<const std::byte> from) {
    iovec mine{const_cast<std::byte*>(from.data()), from.size()};
    const fi_rma_iov theirs{address, from.size(), key};
    const fi_msg_rma message{&mine, nullptr, 1, there_, &theirs, 1, &mark_, 0};
    return completes(
        [&] { return ::fi_writemsg(ep(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
  }
  bool add(std::uint64_t address, std::uint64_t key, const std::uint64_t& value) {
    return completes([&] {
      return ::fi_atomic(ep(), &value, 1, nullptr, there_, address, key, FI_UINT64, FI_SUM, &mark_);
    });
  }
  bool send(std::span<const std::byte> bytes) {
    return completes(
        [&] { return ::fi_send(ep(), bytes.data(), bytes.size(), nullptr, there_, &mark_); });
  }
  // Is taken by the provider, and looked after no more: what the other side asks for never comes.
  bool abandon(std::span<const std::byte> bytes, bool tagged) {
    return is_taken([&] {
      return tagged ? ::fi_tsend(ep(), bytes.data(), bytes.size(), nullptr, there_, 7, &mark_)
                    : ::fi_send(ep(), bytes.data(), bytes.size(), nullptr, there_, &mark_);
    });
  }

 private:
  static constexpr std::chrono::seconds kMost{5};

  explicit Stranger(const ofi::Libfabric& library) : library_(library) {}

  Status make(const sockaddr_in& address) {
    info_.reset(library_.dupinfo(nullptr));
    info_->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
    info_->mode = FI_CONTEXT | FI_CONTEXT2;
    info_->ep_attr->type = FI_EP_RDM;
    info_->addr_format = FI_SOCKADDR_IN;
    info_->fabric_attr->prov_name = ::strdup("tcp;ofi_rxm");
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    fi_info* found = nullptr;
    const int result =
        library_.getinfo(FI_VERSION(1, 14), text.data(), nullptr, 0, info_.get(), &found);
    if (result != 0) return ofi::failure(library_, "list networks", "lo", result);
    info_.reset(found);
    const auto make_it = [&](auto& handle, auto call) -> Status {
      using Object = std::remove_reference_t<decltype(*handle)>;
      ASSIGN_OR_RETURN(handle, ofi::owned<Object>(library_, call, "open something", "lo"));
      return Status::ok();
    };
    RETURN_IF_ERROR(make_it(fabric_, [&](fid_fabric** made) {
      return library_.fabric(info_->fabric_attr, made, nullptr);
    }));
    RETURN_IF_ERROR(make_it(domain_, [&](fid_domain** made) {
      return ::fi_domain(fabric_.get(), info_.get(), made, nullptr);
    }));
    fi_av_attr names{};
    RETURN_IF_ERROR(make_it(
        names_, [&](fid_av** made) { return ::fi_av_open(domain_.get(), &names, made, nullptr); }));
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_CONTEXT;
    RETURN_IF_ERROR(make_it(
        done_, [&](fid_cq** made) { return ::fi_cq_open(domain_.get(), &queue, made, nullptr); }));
    RETURN_IF_ERROR(make_it(endpoint_, [&](fid_ep** made) {
      return ::fi_endpoint(domain_.get(), info_.get(), made, nullptr);
    }));
    int failed = ::fi_ep_bind(endpoint_.get(), &names_->fid, 0);
    if (failed == 0) failed = ::fi_ep_bind(endpoint_.get(), &done_->fid, FI_TRANSMIT | FI_RECV);
    if (failed == 0) failed = ::fi_enable(endpoint_.get());
    if (failed != 0) return ofi::failure(library_, "enable an endpoint", "lo", failed);
    return ::fi_av_insert(names_.get(), &address, 1, &there_, 0, nullptr) == 1
               ? Status::ok()
               : ofi::failure(library_, "note an address", "lo", -FI_EINVAL);
  }

  fid_ep* ep() const { return endpoint_.get(); }

  // The queue's next completion: 1 well, -1 badly, 0 nothing.
  int poll() {
    fi_cq_entry entry{};
    const ssize_t read = ::fi_cq_read(done_.get(), &entry, 1);
    if (read == 1) return 1;
    if (read != -FI_EAVAIL) return 0;
    fi_cq_err_entry error{};
    ::fi_cq_readerr(done_.get(), &error, 0);
    return -1;
  }
  template <class Call>
  bool is_taken(Call call) {
    const auto end = std::chrono::steady_clock::now() + kMost;
    while (std::chrono::steady_clock::now() < end) {
      const ssize_t result = call();
      if (result == 0) return true;
      if (result != -FI_EAGAIN) return false;
      poll();
      std::this_thread::yield();
    }
    return false;
  }
  template <class Call>
  bool completes(Call call) {
    if (!is_taken(call)) return false;
    const auto end = std::chrono::steady_clock::now() + kMost;
    while (std::chrono::steady_clock::now() < end) {
      if (const int what = poll(); what != 0) return what > 0;
      std::this_thread::yield();
    }
    return false;
  }

  const ofi::Libfabric& library_;
  ofi::Info info_{nullptr, ofi::FreeInfo{&library_}};
  ofi::Handle<fid_fabric> fabric_;
  ofi::Handle<fid_domain> domain_;
  ofi::Handle<fid_av> names_;
  ofi::Handle<fid_cq> done_;
  ofi::Handle<fid_ep> endpoint_;
  fi_addr_t there_ = FI_ADDR_UNSPEC;
  fi_context2 mark_{};
};

}  // namespace weft
