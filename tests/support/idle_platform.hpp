// A platform that has nothing and does nothing: tests override what they are about.
#pragma once

#include "src/base/status.hpp"
#include "src/platform/platform.hpp"

namespace weft::test {

class IdlePlatform : public Platform {
 public:
  std::string_view name() const override { return "idle"; }
  bool is_host_accessible() const override { return true; }
  Blob identity() const override { return {}; }
  std::string why_not_mapped(const Blob&) const override { return ""; }
  std::size_t granularity() const override { return 4096; }
  Result<Memory> reserve(std::size_t) override { return Memory(); }
  Result<Memory> commit(Range, const MemoryHints&) override { return Memory(); }
  Result<Memory> adopt(Range, Range) override { return Memory(); }
  Result<Blob> share(const Memory&) override { return Blob(); }
  Result<Memory> open(const Blob&, Range) override { return Memory(); }
  Result<Memory> host_visible(std::size_t) override { return Memory(); }
  Result<Stream> create_stream() override { return Stream(); }
  Status destroy_stream(Stream) override { return Status::ok(); }
  Status copy(void*, const void*, std::size_t, Stream) override { return Status::ok(); }
  Status zero(Range, Stream) override { return Status::ok(); }
  Status synchronize(Stream) override { return Status::ok(); }
  Status prepare(std::span<const Kernel* const>, const Kernel&) override { return Status::ok(); }
  Status launch(const Kernel&, unsigned, unsigned, const void*, Stream) override {
    return Status::ok();
  }
  bool has_word_steps() const override { return false; }
  Status word_steps(std::span<const WordStep>, Stream) override { return Status::ok(); }
  Result<bool> is_capturing(Stream) override { return false; }
};

}  // namespace weft::test
