// The public calls of Runtime that are not about memory or teams.
#include <weft/runtime.hpp>

#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/version.hpp>

#include "host/context/impl.hpp"
#include "host/runtime/impl.hpp"
#include "src/base/status.hpp"

namespace weft {

Result<Runtime> Runtime::create() {
  auto options = Options::from_environment();
  if (!options) return report(options.status());
  return create(*options);
}

Result<Runtime> Runtime::create(const Options& options) {
  if (Status good = options.verify(); !good.is_ok()) return report(std::move(good));
  return Impl::create(make_bootstrap(options), options);
}

Result<Runtime> Runtime::create(const UniqueId& id, int pe, int npes, const Options& options) {
  if (Status good = options.verify(); !good.is_ok()) return report(std::move(good));
  return Impl::create(make_tcp_bootstrap(id.text(), pe, npes, options), options);
}

// --- a handle that moves -------------------------------------------------------------------------

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->job->runtime = this;
}

Runtime::Runtime(Runtime&& other) noexcept : impl_(std::move(other.impl_)) {
  if (impl_ != nullptr) impl_->job->runtime = this;
}

Runtime& Runtime::operator=(Runtime&& other) noexcept {
  if (this == &other) return *this;
  Impl::destroy(std::move(impl_));
  impl_ = std::move(other.impl_);
  if (impl_ != nullptr) impl_->job->runtime = this;
  return *this;
}

Runtime::~Runtime() { Impl::destroy(std::move(impl_)); }

// --- facts ---------------------------------------------------------------------------------------

int Runtime::pe() const { return impl_->job->pe; }
int Runtime::npes() const { return impl_->job->npes; }
const Options& Runtime::options() const { return impl_->job->options; }
int Runtime::gpu() const { return impl_->job->gpu == nullptr ? -1 : impl_->job->gpu->ordinal(); }
const Team& Runtime::world() const { return impl_->world; }
const Team& Runtime::node() const { return impl_->node; }
const Team& Runtime::shared() const { return impl_->shared; }
Context& Runtime::context() { return *impl_->context; }

Result<Context> Runtime::create_context() {
  Status status = impl_->usable();
  if (!status.is_ok()) return report(std::move(status));
  auto context = impl_->new_context(options().check);
  if (!context) return report(context.status());
  return context;
}

Status Runtime::barrier() {
  const auto alone = impl_->take_job_calls();
  return weft::barrier(context(), impl_->everybody);
}

std::shared_ptr<const void> Runtime::hold_memory() const { return impl_->job; }

bool Runtime::is_inherited() const { return impl_->job->is_inherited(); }

Status Runtime::health() {
  Status status = impl_->job->device_health();
  if (status.is_ok()) status = impl_->job->health();
  return report(std::move(status));
}

void Runtime::abort(int code, std::string_view why) {
  if (impl_->job->is_inherited()) return report(impl_->job->health()).ignore();
  impl_->job->bootstrap->abort(code, why);
  impl_->job->health().ignore();  // known to this PE from here on
}

static std::string describe_routes(std::string_view title, const Routes& routes) {
  std::string text;
  for (int pe = 0; pe < routes.npes(); ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    const std::byte* mapped = routes.peer[index];
    const std::string way = routes.transport(pe).way_to(pe);
    text += fmt::format("{} {}: {}, {}{}{}\n", title, pe, routes.reason[index],
                        mapped == nullptr ? std::string("through requests")
                                          : fmt::format("mapped at {}", fmt::ptr(mapped)),
                        way.empty() ? "" : " ", way);
  }
  return text;
}

std::string Runtime::describe() const {
  const Job& job = *impl_->job;
  std::string text =
      fmt::format("Weft {}: PE {} of {}, bootstrap {}, memory of the {}\n", WEFT_VERSION, job.pe,
                  job.npes, job.bootstrap->name(), job.platform->name());
  text +=
      fmt::format("heap: {} bytes in use, {} committed, {} at most, at {}\n", job.heap->in_use(),
                  job.heap->committed(), job.heap->range().bytes, fmt::ptr(job.heap->range().base));
  if (job.gpu != nullptr) {
    const Heap& heap = job.gpu->heap();
    text += fmt::format("GPU {}: {} bytes in use, {} committed, {} at most, at {}\n",
                        job.gpu->ordinal(), heap.in_use(), heap.committed(), heap.range().bytes,
                        fmt::ptr(heap.range().base));
  }
  if (!impl_->why_host_memory.empty())
    text += fmt::format("allocate_device gives memory of the host: {}\n", impl_->why_host_memory);
  text += fmt::format("teams: world {}, node {}, shared {}; blocks of {} bytes\n",
                      impl_->world.size, impl_->node.size, impl_->shared.size, job.teams.stride);
  text += describe_routes("PE", job.routes);
  if (job.gpu != nullptr) text += describe_routes("GPU memory of PE", job.gpu->routes());
  return text;
}

}  // namespace weft
