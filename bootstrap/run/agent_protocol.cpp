#include "bootstrap/run/agent_protocol.hpp"

#include "src/net/wire.hpp"

namespace weft::run {
namespace {

using net::malformed;
using net::Reader;
using net::Writer;

void number(Writer& out, int value) { out.u32(static_cast<std::uint32_t>(value)); }
int number(Reader& in) { return static_cast<int>(in.u32()); }

}  // namespace

net::Bytes encode(const Order& order) {
  Writer out;
  out.text(order.version);
  out.text(order.unique_id);
  for (const int value : {order.first, order.count, order.npes, order.bind}) number(out, value);
  out.u64(static_cast<std::uint64_t>(order.grace_s * 1e6));
  out.text(order.directory);
  number(out, static_cast<int>(order.environment.size()));
  for (const auto& [name, value] : order.environment) {
    out.text(name);
    out.text(value);
  }
  for (const std::string& word : order.command) out.text(word);
  return out.take();
}

Result<Order> decode_order(std::span<const std::byte> payload) {
  Reader in(payload);
  Order order;
  order.version = in.text();
  order.unique_id = in.text();
  for (int* value : {&order.first, &order.count, &order.npes, &order.bind}) *value = number(in);
  order.grace_s = static_cast<double>(in.u64()) * 1e-6;
  order.directory = in.text();
  for (int left = number(in); left > 0 && in.good(); --left) {
    std::string name = in.text();
    order.environment.emplace_back(std::move(name), in.text());
  }
  while (in.left() > 0) order.command.push_back(in.text());
  if (!in.complete() || order.command.empty() || order.count < 1) {
    return malformed("order", payload.size());
  }
  return order;
}

net::Bytes encode(const Started& started) {
  Writer out;
  number(out, started.pe);
  number(out, started.pid);
  return out.take();
}

Result<Started> decode_started(std::span<const std::byte> payload) {
  Reader in(payload);
  Started started;
  started.pe = number(in);
  started.pid = number(in);
  if (!in.complete()) return malformed("started", payload.size());
  return started;
}

net::Bytes encode(const Output& output) {
  Writer out;
  number(out, output.pe);
  number(out, output.fd);
  out.text(output.bytes);
  return out.take();
}

Result<Output> decode_output(std::span<const std::byte> payload) {
  Reader in(payload);
  Output output;
  output.pe = number(in);
  output.fd = number(in);
  const auto bytes = in.bytes();
  if (!in.complete()) return malformed("output", payload.size());
  output.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return output;
}

net::Bytes encode(const Ended& ended) {
  Writer out;
  for (const int value : {ended.pe, ended.ending.code, ended.ending.signal}) number(out, value);
  out.u8(ended.ending.core ? 1 : 0);
  return out.take();
}

Result<Ended> decode_ended(std::span<const std::byte> payload) {
  Reader in(payload);
  Ended ended;
  for (int* value : {&ended.pe, &ended.ending.code, &ended.ending.signal}) *value = number(in);
  ended.ending.core = in.u8() != 0;
  if (!in.complete()) return malformed("ended", payload.size());
  return ended;
}

net::Bytes encode(const Refused& refused) {
  Writer out;
  number(out, refused.exit_status);
  out.text(refused.why);
  return out.take();
}

Result<Refused> decode_refused(std::span<const std::byte> payload) {
  Reader in(payload);
  Refused refused;
  refused.exit_status = number(in);
  refused.why = in.text();
  if (!in.complete()) return malformed("refused", payload.size());
  return refused;
}

net::Bytes encode_signal(int signal) {
  Writer out;
  number(out, signal);
  return out.take();
}

Result<int> decode_signal(std::span<const std::byte> payload) {
  Reader in(payload);
  const int signal = number(in);
  if (!in.complete()) return malformed("signal", payload.size());
  return signal;
}

}  // namespace weft::run
