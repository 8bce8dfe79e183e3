// AbsentTransport: a network in a build without what it needs. It reaches nobody, and says why.
#pragma once

#include <string>

#include "host/transport/transport.hpp"
#include "src/base/status.hpp"

namespace weft::network {

class AbsentTransport final : public Transport {
 public:
  AbsentTransport(const char* name, std::string why) : name_(name), why_(std::move(why)) {}
  std::string_view name() const override { return name_; }
  const Caps& caps() const override { return caps_; }
  Result<Blob> address() override { return Blob(); }
  Status connect(std::span<const Blob>) override { return Status::ok(); }
  bool reaches(int) const override { return false; }
  std::string why_not(int) const override { return why_; }
  Result<Blob> expose(const Region&) override { return Blob(); }
  Result<Mapping> attach(int, std::uint64_t, std::uint64_t, const Blob&) override {
    return refused();
  }
  void detach(int, std::uint64_t) override {}
  Status check(const Op&) const override { return refused(); }
  Status post(Lane, const Op&) override { return refused(); }
  Status progress(Lane) override { return Status::ok(); }
  std::uint64_t completed(Lane) const override { return 0; }
  Status flush(Lane) override { return Status::ok(); }

 private:
  Status refused() const { return Status::error(Code::kUnsupported, why_); }

  const char* name_;
  std::string why_;
  Caps caps_{.link = Link::kNetwork};
};

}  // namespace weft::network
