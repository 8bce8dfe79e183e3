// ib in a build without the headers of verbs: it reaches nobody, and says why.
#include "host/transport/ib/ib.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr std::string_view kWhy =
    "this libweft was built without infiniband/verbs.h; install libibverbs-dev and build it anew";
Status refused() { return Status::error(Code::kUnsupported, std::string(kWhy)); }

class NoIb final : public Transport {
 public:
  std::string_view name() const override { return "ib"; }
  const Caps& caps() const override { return caps_; }
  Result<Blob> address() override { return Blob(); }
  Status connect(std::span<const Blob>) override { return Status::ok(); }
  bool reaches(int) const override { return false; }
  std::string why_not(int) const override { return std::string(kWhy); }
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
  Caps caps_{.link = Link::kNetwork};
};

}  // namespace

std::unique_ptr<Transport> make_ib(const TransportEnv&) { return std::make_unique<NoIb>(); }

Result<std::string> ib_port(const Options&) { return refused(); }

}  // namespace weft
