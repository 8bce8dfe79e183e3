#include "host/runtime/agreement.hpp"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include <weft/dev/state.hpp>
#include <weft/version.hpp>

#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr std::string_view kVersion = "library version";
constexpr std::string_view kAbi = "device state version";

using Facts = std::map<std::string, std::string>;

Facts parse(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    facts[std::string(line.substr(0, equals))] = line.substr(std::min(equals + 1, line.size()));
  }
  return facts;
}

std::string value_of(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "not there" : fmt::format("'{}'", found->second);
}

Status mismatch(const std::string& name, std::size_t pe, const std::string& theirs,
                const std::string& first) {
  const bool version = name == kVersion || name == kAbi;
  return Status::error(version ? Code::kVersionMismatch : Code::kInvalidArgument,
                       fmt::format("{} is {} on PE {} and {} on PE 0; {}", name, theirs, pe, first,
                                   version ? "run the same build of Weft on every PE"
                                           : "set it to the same value on every PE"));
}

}  // namespace

std::string agreement_of(const Options& options) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}={}\n", name, value);
  };
  add(kVersion, WEFT_VERSION);
  add(kAbi, kDeviceAbi);
  add("WEFT_HEAP_SIZE", options.heap_size);
  add("WEFT_HEAP_CHUNK", options.heap_chunk);
  add("WEFT_ADOPT_SIZE", options.adopt_size);
  add("WEFT_GPU_HEAP_SIZE", options.gpu_heap_size);
  add("WEFT_GPU_HEAP_CHUNK", options.gpu_heap_chunk);
  add("WEFT_STATIC_DATA", options.static_data);
  add("WEFT_MAX_TEAMS", options.max_teams);
  add("WEFT_CHECK", options.check ? 1 : 0);
  add("WEFT_TRANSPORTS", options.transports);
  add("WEFT_GPU_TRANSPORTS", options.gpu_transports);
  add("WEFT_IB_ATOMICS", options.ib_atomics);
  add("WEFT_PRETEND_HOSTS", options.pretend_hosts);
  return text;
}

Status check_agreement(std::span<const std::string> all) {
  const Facts first = parse(all[0]);
  for (std::size_t pe = 1; pe < all.size(); ++pe) {
    if (all[pe] == all[0]) continue;
    const Facts theirs = parse(all[pe]);
    // The versions say most, so they go first.
    Facts names = first;
    names.insert(theirs.begin(), theirs.end());
    for (const std::string_view version : {kVersion, kAbi}) {
      const std::string name(version);
      if (value_of(theirs, name) != value_of(first, name))
        return mismatch(name, pe, value_of(theirs, name), value_of(first, name));
    }
    for (const auto& [name, value] : names)
      if (value_of(theirs, name) != value_of(first, name))
        return mismatch(name, pe, value_of(theirs, name), value_of(first, name));
  }
  return Status::ok();
}

}  // namespace weft
