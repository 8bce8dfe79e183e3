#include "src/platform/gpu/device.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::gpu {
namespace {

using abi::Attribute;
using abi::Error;

Result<bool> has(const Driver& driver, Attribute attribute, int ordinal) {
  int value = 0;
  RETURN_IF_ERROR(driver.check(driver.call().device_attribute(&value, attribute, ordinal),
                               "cuDeviceGetAttribute", "ask what a GPU can do"));
  return value != 0;
}

std::string show(int ordinal, const Identity& identity) {
  return fmt::format("GPU {} ({})", ordinal, identity.bus);
}

}  // namespace

Result<Identity> identify(const Driver& driver, int ordinal) {
  Identity identity;
  RETURN_IF_ERROR(driver.check(driver.call().device_uuid(&identity.uuid, ordinal),
                               "cuDeviceGetUuid", fmt::format("identify GPU {}", ordinal)));
  RETURN_IF_ERROR(driver.check(driver.call().device_bus(identity.bus, sizeof identity.bus, ordinal),
                               "cuDeviceGetPCIBusId",
                               fmt::format("find the bus of GPU {}", ordinal)));
  return identity;
}

Result<std::unique_ptr<const Device>> Device::open(const Driver& driver, int ordinal) {
  std::unique_ptr<Device> device(new Device(driver, ordinal));
  RETURN_IF_ERROR(device->learn());
  RETURN_IF_ERROR(device->start());
  return std::unique_ptr<const Device>(std::move(device));
}

Status Device::learn() {
  ASSIGN_OR_RETURN(identity_, identify(driver_, ordinal_));
  ASSIGN_OR_RETURN(const bool virtual_memory, has(driver_, Attribute::kVirtualMemory, ordinal_));
  if (!virtual_memory) {
    return Status::error(Code::kUnsupported,
                         fmt::format("{} cannot map memory at chosen addresses (cuMemMap), which "
                                     "the symmetric heap needs; is it a virtual GPU?",
                                     describe()));
  }
  ASSIGN_OR_RETURN(const bool fds, has(driver_, Attribute::kFdHandles, ordinal_));
  ASSIGN_OR_RETURN(const bool rdma, has(driver_, Attribute::kRdmaOfVirtualMemory, ordinal_));
  ASSIGN_OR_RETURN(has_stream_words_, has(driver_, Attribute::kStreamWords, ordinal_));
  memory_.type = abi::AllocationType::kPinned;
  memory_.handle_types = fds ? abi::HandleType::kPosixFd : abi::HandleType::kNone;
  memory_.location = {abi::LocationType::kDevice, ordinal_};
  memory_.flags.gpu_direct_rdma = rdma ? 1 : 0;
  return check(call().granularity(&granularity_, &memory_, abi::Granularity::kMinimum),
               "cuMemGetAllocationGranularity", "ask for the size of its pages");
}

Status Device::start() {
  RETURN_IF_ERROR(check(call().retain_primary(&context_, ordinal_), "cuDevicePrimaryCtxRetain",
                        "open its primary context"));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*this));
  return check(call().stream_create(&stream_, abi::kNonBlocking), "cuStreamCreate",
               "create a stream");
}

std::string Device::describe() const { return show(ordinal_, identity_); }

Status Device::failure(Error error, std::string_view function, std::string_view what) const {
  return driver_.check(error, function, fmt::format("{} on {}", what, describe()));
}

Status Device::allow(Range where) const {
  const abi::Access access{{abi::LocationType::kDevice, ordinal_}, abi::AccessFlags::kReadWrite};
  return check(call().set_access(abi::pointer(where.base), where.bytes, &access, 1),
               "cuMemSetAccess",
               fmt::format("reach {} bytes at {}", where.bytes, fmt::ptr(where.base)));
}

std::string Device::why_not_reached(const Identity& peer) const {
  if (peer.uuid == identity_.uuid) return "";
  int count = 0;
  if (Status asked = driver_.check(call().device_count(&count), "cuDeviceGetCount", "count GPUs");
      !asked.is_ok()) {
    return std::string(asked.text());
  }
  for (int other = 0; other < count; ++other) {
    const auto found = identify(driver_, other);
    if (!found) return std::string(found.status().text());
    if (found->uuid != peer.uuid) continue;
    int can = 0;
    const Status asked = check(call().device_can_access(&can, ordinal_, other),
                               "cuDeviceCanAccessPeer", "ask which GPUs it reaches");
    if (!asked.is_ok()) return std::string(asked.text());
    if (can != 0) return "";
    return fmt::format(
        "{} cannot reach {} directly: no NVLink, and no path over PCIe that the "
        "driver allows (nvidia-smi topo -p2p r; an IOMMU or PCIe ACS may be why)",
        describe(), show(other, *found));
  }
  return fmt::format(
      "the GPU {} of the peer is not visible to this process, which has {} on {}: let "
      "CUDA_VISIBLE_DEVICES name the GPUs of all PEs of this host for each of them, and let each "
      "PE choose its own (cudaSetDevice); in containers, pass all of them in",
      std::string_view(peer.bus, ::strnlen(peer.bus, sizeof peer.bus)),
      count == 1 ? "one GPU" : fmt::format("{} GPUs", count), describe());
}

Result<Scope> Scope::enter(const Device& device) {
  RETURN_IF_ERROR(device.driver().check_process());
  RETURN_IF_ERROR(device.check(device.call().context_push(device.context()), "cuCtxPushCurrent",
                               "make the context current"));
  return Scope(device);
}

Scope::~Scope() {
  if (device_ == nullptr) return;
  abi::Context mine = nullptr;
  const Status popped = device_->check(device_->call().context_pop(&mine), "cuCtxPopCurrent",
                                       "restore the thread's context");
  if (!popped.is_ok()) LOG(kWarn, "platform", "{}", popped.text());
}

}  // namespace weft::gpu
