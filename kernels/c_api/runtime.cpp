#include "kernels/c_api/runtime.hpp"

#include <cstddef>
#include <utility>

#include <weft/kernels/stream.hpp>

#include "kernels/core/status.hpp"

namespace weft::kernels::c_api {
namespace {

constexpr std::size_t kAlignment = 256;  // bytes

Result<weft_runtime_t*> create(weft_runtime_t** made) {
  if (made == nullptr) return refuse_null("weft_runtime_create", "made");
  auto runtime = Runtime::create();
  if (!runtime) return std::move(runtime).status();
  return new weft_runtime_t{*std::move(runtime)};
}

Result<weft_runtime_t*> create_with_id(const char* text, int pe, int npes, weft_runtime_t** made) {
  if (text == nullptr) return refuse_null("weft_runtime_create_with_id", "text");
  if (made == nullptr) return refuse_null("weft_runtime_create_with_id", "made");
  ASSIGN_OR_RETURN(const UniqueId id, UniqueId::parse(text));
  ASSIGN_OR_RETURN(const Options options, Options::from_environment());
  ASSIGN_OR_RETURN(Runtime runtime, Runtime::create(id, pe, npes, options));
  return new weft_runtime_t{std::move(runtime)};
}

Result<weft_unique_id_t*> create_id(int npes, const char* address, weft_unique_id_t** made) {
  if (made == nullptr) return refuse_null("weft_unique_id_create", "made");
  if (npes < 0)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("weft_unique_id_create: npes is {}; it has to be the number "
                                     "of PEs, or 0 for as many as the first that comes says",
                                     npes));
  ASSIGN_OR_RETURN(Options options, Options::from_environment());
  if (address != nullptr) options.bind_address = address;
  ASSIGN_OR_RETURN(UniqueId id,
                   npes == 0 ? UniqueId::create(options) : UniqueId::create(npes, options));
  const std::string text = id.text();
  return new weft_unique_id_t{std::move(id), text};
}

Status allocate(weft_runtime_t* runtime, std::size_t bytes, void** made) {
  if (runtime == nullptr) return refuse_null("weft_runtime_allocate", "the runtime");
  if (made == nullptr) return refuse_null("weft_runtime_allocate", "made");
  ASSIGN_OR_RETURN(*made, runtime->runtime.allocate_device<std::byte>(bytes, kAlignment));
  return Status::ok();
}
Status free(weft_runtime_t* runtime, void* memory) {
  if (runtime == nullptr) return refuse_null("weft_runtime_free", "the runtime");
  return memory == nullptr ? Status::ok() : runtime->runtime.free(memory);
}

}  // namespace
}  // namespace weft::kernels::c_api

namespace c_api = weft::kernels::c_api;

extern "C" {

const char* weft_kernels_error(void) { return weft::last_error(); }

int weft_runtime_create(weft_runtime_t** made) {
  auto runtime = c_api::create(made);
  if (runtime) *made = *runtime;
  return c_api::code_of(std::move(runtime).status());
}
int weft_runtime_create_with_id(const char* text, int pe, int npes, weft_runtime_t** made) {
  auto runtime = c_api::create_with_id(text, pe, npes, made);
  if (runtime) *made = *runtime;
  return c_api::code_of(std::move(runtime).status());
}
int weft_unique_id_create(int npes, const char* address, weft_unique_id_t** made) {
  auto id = c_api::create_id(npes, address, made);
  if (id) *made = *id;
  return c_api::code_of(std::move(id).status());
}
const char* weft_unique_id_text(const weft_unique_id_t* id) { return id->text.c_str(); }
void weft_unique_id_destroy(weft_unique_id_t* id) { delete id; }
void weft_runtime_destroy(weft_runtime_t* runtime) { delete runtime; }
int weft_runtime_pe(const weft_runtime_t* runtime) { return runtime->runtime.pe(); }
int weft_runtime_npes(const weft_runtime_t* runtime) { return runtime->runtime.npes(); }
int weft_runtime_gpu(const weft_runtime_t* runtime) { return runtime->runtime.gpu(); }
int weft_runtime_barrier(weft_runtime_t* runtime) {
  return c_api::code_of(runtime->runtime.barrier());
}
int weft_runtime_synchronize(weft_runtime_t* runtime, void* stream) {
  return c_api::code_of(weft::kernels::synchronize(runtime->runtime, stream));
}
int weft_runtime_health(weft_runtime_t* runtime) {
  return c_api::code_of(runtime->runtime.health());
}
int weft_runtime_allocate(weft_runtime_t* runtime, size_t bytes, void** made) {
  return c_api::code_of(c_api::allocate(runtime, bytes, made));
}
int weft_runtime_free(weft_runtime_t* runtime, void* memory) {
  return c_api::code_of(c_api::free(runtime, memory));
}
}
