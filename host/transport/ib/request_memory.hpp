// RequestMemory: where the bytes of a request are at both ends, and what it takes and gives back of
// staging memory and staging slots.
#pragma once

#include <cstdint>
#include <vector>

#include "host/transport/ib/in_flight_requests.hpp"
#include "host/transport/ib/work_requests.hpp"

namespace weft::ib {

class RequestMemory {
 public:
  explicit RequestMemory(const LaneEnv& env) : env_(env) {}

  // Memory of the owner's, with keys for the request's path.
  Status find(const InFlightRequest& request, std::uint64_t offset, std::uint64_t bytes,
              std::vector<Heaps::There>& parts) const;
  Heaps::There staging_slot(const InFlightRequest& request) const;
  // Takes what the request needs here: small bytes go along; those that stay where the device
  // reaches are used there, others copied.
  Status take(InFlightRequest& request) const;
  // Where its bytes are here.
  Piece local(const InFlightRequest& request) const;
  // Where the old value of an atomic comes.
  Piece old_value(const InFlightRequest& request) const;

  // The device has completed all of it: what it took is free again, what it brought goes to where
  // it is wanted.
  Status finish(InFlightRequest& request) const;
  void free_staging_slot(InFlightRequest& request) const;
  void free_block(InFlightRequest& request) const;
  // It was abandoned: its owner may still use the staging slot.
  void abandon(InFlightRequest& request) const;

 private:
  Status stage(InFlightRequest& request, std::uint64_t bytes) const;
  Status deliver(const InFlightRequest& request) const;

  const LaneEnv& env_;
};

}  // namespace weft::ib
