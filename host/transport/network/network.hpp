// NetworkTransport: what ib and ofi have in common: which PEs are reached and why others are not,
// the heaps, and what a PE executes for others. A network adds how it is opened and its lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/topology/facts.hpp"
#include "host/transport/network/gpu_memory.hpp"
#include "host/transport/network/heaps.hpp"
#include "host/transport/network/own_memory.hpp"
#include "host/transport/network/windows.hpp"
#include "host/transport/transport.hpp"

namespace weft::network {

// A PE's own description.
struct Peer {
  Facts facts;
  std::uint64_t key = 0;  // random; whoever speaks to it must know it
  bool usable = false;
  Windows::Place window;  // for bytes to and from its GPU's memory, if they come by one
  Blob way;               // if it is usable: how others send to it, in the network's own words
  std::string why;        // else
};

class NetworkTransport : public Transport {
 public:
  std::string_view name() const override { return name_; }
  const Caps& caps() const override { return caps_; }
  Result<Blob> address() override;
  Status connect(std::span<const Blob> all) override;
  bool reaches(int pe) const override { return why_not(pe).empty(); }
  std::string why_not(int pe) const override { return why_not_[static_cast<std::size_t>(pe)]; }
  std::string way_to(int pe) const override;
  Result<Blob> expose(const Region& region) override;
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override;
  void detach(int pe, std::uint64_t offset) override { heaps_.remove(pe, offset); }
  Status check(const Op& op) const override;

 protected:
  NetworkTransport(const char* name, const TransportEnv& env, const Caps& caps)
      : name_(name),
        env_(env),
        caps_(caps),
        heaps_(name, env_),
        windows_(env.pe, env.npes),
        why_not_(static_cast<std::size_t>(env.npes)) {}

  // Opens what others send to and says how they do; or why that is not possible.
  virtual Result<Blob> open() = 0;
  // Nobody is reached, or it could not be opened: gives back what open() took.
  virtual void close() = 0;
  // Somebody is reached: all PEs, in their order. `peers` stays.
  virtual Status start(const std::vector<Peer>& peers) = 0;
  // Describes, for people, what was opened.
  virtual std::string describe() const = 0;
  // Why that of another PE, which is usable, cannot be sent to; "" if it can.
  virtual std::string why_not_to(const Peer& mine, const Peer& theirs) const = 0;
  // If it owns atomics: what keeps it from executing them on every PE's words.
  virtual Status why_no_atomics(const std::vector<Peer>&) const { return Status::ok(); }
  virtual Result<Registered> register_memory(std::byte* base, std::size_t bytes) = 0;
  // The same of memory of GPUs, as long as what was opened is.
  virtual Registrar gpu_registrar() = 0;

  // Executes a PE's request on my heap, which is not to be trusted. My side lies where the op says,
  // or is that staging slot of the asker's.
  Status execute(Op op, int from, int staging_slot) const;
  // By the destructor of whom the registrations belong to, once nothing comes any more.
  void drop_heaps();
  const TransportEnv& env() const { return env_; }
  const Heaps& heaps() const { return heaps_; }
  OwnMemory own_memory() const { return {heaps_, gpu_.get()}; }
  Windows& windows() { return windows_; }
  Caps& own_caps() { return caps_; }

 private:
  bool others_do(const Facts& mine, const Facts& theirs) const;
  bool nobody_needs_it() const;
  Result<Blob> open_if_needed();
  Status open_gpu_memory();
  std::string describe_all() const;
  std::string why_not_reached(int pe) const;

  const char* const name_;
  const TransportEnv env_;
  Caps caps_;
  Heaps heaps_;
  std::unique_ptr<GpuMemory> gpu_;  // null: the heap is the host's
  Windows windows_;
  Windows::Place window_;  // mine
  std::vector<Peer> peers_;
  std::vector<std::string> why_not_;
  bool needed_ = false;  // it reaches somebody, or owns atomics
};

}  // namespace weft::network
