// Strategy: one way in which calls of an operator can go. An operator owns a list of them, and a
// call goes by the first that applies: so what applies must follow from what all PEs know alike.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/core/arena.hpp"
#include "kernels/core/memory.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {

template <class Call>
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual bool applies(const Call& call) const = 0;
  // Symmetric memory for the largest call.
  virtual std::size_t workspace_bytes() const = 0;
  // Before the first run(): so much memory, zeroed, at a multiple of kWorkspaceAlignment. A barrier
  // follows before any PE runs.
  virtual Status bind(Runtime& runtime, std::byte* workspace) = 0;
  virtual Status run(Stream stream, const Call& call) = 0;
  virtual std::string describe() const = 0;
};

// An operator's strategies, in the order in which they are asked, and their memory.
template <class Call>
class Strategies {
 public:
  // Null: there is none of the kind.
  void add(std::unique_ptr<Strategy<Call>> strategy) {
    if (strategy != nullptr) list_.push_back(std::move(strategy));
  }

  // One allocation serves all, or a part of the arena's. Collective over the job.
  Status bind(Runtime& runtime, const Arena* arena) {
    WorkspaceParts parts;
    for (const auto& strategy : list_) parts.add(strategy->workspace_bytes());
    ASSIGN_OR_RETURN(memory_, OperatorMemory::create(runtime, arena, parts.bytes()));
    for (std::size_t i = 0; i < list_.size(); ++i)
      RETURN_IF_ERROR(list_[i]->bind(runtime, memory_.begin() + parts.offset(i)));
    return runtime.barrier();
  }

  Status run(Stream stream, const Call& call) const {
    for (const auto& strategy : list_)
      if (strategy->applies(call)) return strategy->run(stream, call);
    return Status::error(Code::kInternal, "no strategy of an operator applies to a call");
  }

  std::size_t workspace_bytes() const { return memory_.bytes(); }
  std::string describe() const {
    std::string text;
    for (const auto& strategy : list_)
      text += (text.empty() ? "" : "; else ") + strategy->describe();
    return text;
  }

 private:
  std::vector<std::unique_ptr<Strategy<Call>>> list_;
  OperatorMemory memory_;
};

}  // namespace weft::kernels
