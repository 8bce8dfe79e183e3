// Bytes that a launcher, or a program under weft-run, may write into a PMI socket. First byte: the
// form (lowest bit) and the size of the pieces in which the rest arrives. Whatever comes, nothing
// may break, the pieces must make no difference, and a counted message must read back as itself.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/pmi/kvs_launcher.hpp"
#include "bootstrap/pmi/message.hpp"
#include "bootstrap/run/pmi1_server.hpp"

namespace {

using weft::pmi::Form;
using weft::pmi::Message;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Decoded {
  std::vector<Message> messages;
  bool stopped = false;
};

Decoded decode(std::string_view stream, std::size_t piece, Form form) {
  Decoded decoded;
  weft::pmi::Decoder decoder(form);
  while (!stream.empty() && !decoded.stopped) {
    const auto part = stream.substr(0, piece);
    stream.remove_prefix(part.size());
    decoder.feed(part);
    for (;;) {
      auto message = decoder.next();
      decoded.stopped = !message.is_ok();
      if (decoded.stopped || !message->has_value()) break;
      decoded.messages.push_back(std::move(**message));
    }
  }
  return decoded;
}

bool reads_as_line(const Message& message) {
  const std::string line = encode(message, Form::kLine);
  return weft::pmi::decode(std::string_view(line).substr(0, line.size() - 1), Form::kLine).is_ok();
}

void check_server(const std::vector<Message>& messages) {
  constexpr int kPes = 3;
  weft::run::Pmi1Server server(kPes);
  int pe = 0;
  for (const Message& message : messages) {
    const auto answers = server.handle(pe, message);
    require(answers.size() <= kPes, "more answers than PEs");
    // An answer repeats the name that was asked for, which a counted message may give any bytes.
    const bool is_line = reads_as_line(message);
    for (const auto& answer : answers)
      require(!is_line || reads_as_line(answer.message), "an answer that cannot be read");
    pe = (pe + 1) % kPes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Form form = data[0] % 2 == 0 ? Form::kLine : Form::kCounted;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Decoded in_pieces = decode(stream, 1 + data[0] / 2 % 64, form);
  const Decoded at_once = decode(stream, size, form);
  require(in_pieces.stopped == at_once.stopped, "the pieces decide whether it is an error");
  require(in_pieces.messages.size() == at_once.messages.size(), "the pieces decide how many");
  for (std::size_t i = 0; i < at_once.messages.size(); ++i) {
    const Message& message = at_once.messages[i];
    require(message.command == in_pieces.messages[i].command, "the pieces change a command");
    require(message.fields == in_pieces.messages[i].fields, "the pieces change a field");
    if (form != Form::kCounted) continue;  // a line's names may hold what a counted message cannot
    const std::string text = encode(message, Form::kCounted);
    const auto again = weft::pmi::decode(std::string_view(text).substr(6), Form::kCounted);
    require(again && again->command == message.command && again->fields == message.fields,
            "a message reads back differently");
  }
  check_server(at_once.messages);
  (void)weft::pmi::maps_to_one_host(stream);
  return 0;
}
