#include <weft/options.hpp>

#include <mutex>
#include <set>
#include <string>

#include "src/base/environment.hpp"
#include "src/base/log.hpp"
#include "src/base/option_table.hpp"

namespace weft {
namespace {

std::string likely(const std::string& name) {
  const OptionRow* near = nearest_option(name);
  if (near == nullptr) return "weft-info --options lists the known names";
  return fmt::format("did you mean {}?", near->env);
}

void warn_unknown(const std::string& name) {
  static std::mutex mutex;
  static auto* const warned = new std::set<std::string>;  // read by static Runtimes too
  const std::lock_guard lock(mutex);
  if (!warned->insert(name).second) return;
  LOG(kWarn, "options", "{} is set in the environment but no option of that name exists; {}", name,
      likely(name));
}

}  // namespace

// All wrong variables are named at once, so that they can be mended at once.
Result<Options> Options::from_environment() {
  Options options;
  std::string problems;
  for (const auto& [name, value] : environment_with_prefix("WEFT_")) {
    if (is_for_others(name)) continue;
    if (find_option(name) == nullptr) {
      warn_unknown(name);
    } else if (!value.empty()) {
      const Status set = options.set(name, value);
      if (!set.is_ok()) problems += (problems.empty() ? "" : "; ") + std::string(set.text());
    }
  }
  if (!problems.empty()) return Status::error(Code::kInvalidArgument, problems);
  return options;
}

Status Options::set(const std::string& env, const std::string& value, const std::string& from) {
  const OptionRow* row = find_option(env);
  if (row == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("no option is named {}; {}", env, likely(env)));
  }
  auto parsed = parse_option(*row, value);
  if (!parsed && !from.empty())
    return Status::error(parsed.status().code(),
                         fmt::format("{}: {}", from, parsed.status().text()));
  if (!parsed) return parsed.status();
  row->put(*this, std::move(parsed).value());
  std::erase_if(sources, [&](const auto& source) { return source.first == env; });
  if (!from.empty()) sources.emplace_back(env, from);
  return Status::ok();
}

std::string Options::source(const std::string& env) const {
  for (const auto& [option, from] : sources)
    if (option == env) return from;
  return env;
}

Status Options::verify() const {
  for (const OptionRow& row : option_table()) {
    RETURN_IF_ERROR(parse_option(row, value_text(row.kind, row.get(*this))).status());
  }
  return Status::ok();
}

}  // namespace weft
