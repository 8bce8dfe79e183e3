#include "bootstrap/pmi/message.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::pmi {
namespace {

constexpr std::size_t kLengthDigits = 6;

Status malformed(std::string_view what, std::string_view text) {
  return Status::error(Code::kIo, fmt::format("no PMI message: {} in \"{}{}\"", what,
                                              text.substr(0, 60), text.size() > 60 ? "..." : ""));
}

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// The first field must be cmd=; it becomes the command.
Result<Message> from_fields(std::vector<std::pair<std::string, std::string>> fields,
                            std::string_view text) {
  if (fields.empty() || fields.front().first != "cmd" || fields.front().second.empty()) {
    return malformed("cmd= is not its first field", text);
  }
  Message message;
  message.command = std::move(fields.front().second);
  fields.erase(fields.begin());
  message.fields = std::move(fields);
  return message;
}

// A word without = goes on with the value before it: error texts have spaces.
Result<Message> decode_line(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty()) continue;
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) {
      fields.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (!fields.empty()) {
      fields.back().second += fmt::format(" {}", word);
    } else {
      return malformed("cmd= is not its first field", text);
    }
  }
  return from_fields(std::move(fields), text);
}

// Up to the ; that is not doubled; takes it off `rest`.
std::optional<std::string> take_value(std::string_view& rest) {
  std::string value;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == ';') {
      if (!rest.starts_with(';')) return value;
      rest.remove_prefix(1);
    }
    value += c;
  }
  return std::nullopt;
}

Result<Message> decode_counted(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (std::string_view rest = text; !rest.empty();) {
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos) return malformed("a field has no =", text);
    std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    auto value = take_value(rest);
    if (!value) return malformed("a field has no ; at its end", text);
    fields.emplace_back(std::move(name), std::move(*value));
  }
  return from_fields(std::move(fields), text);
}

std::string doubled(std::string_view value) {
  std::string text;
  for (const char c : value) text += c == ';' ? std::string(";;") : std::string(1, c);
  return text;
}

}  // namespace

const std::string* Message::find(std::string_view name) const {
  for (const auto& field : fields) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

std::string Message::text(std::string_view name) const {
  const std::string* const found = find(name);
  return found == nullptr ? "" : *found;
}

int Message::number(std::string_view name) const {
  const auto value = whole_number(text(name));
  return value && *value <= kMostBytes * 4 ? static_cast<int>(*value) : -1;
}

std::string encode(const Message& message, Form form) {
  if (form == Form::kLine) {
    std::string line = fmt::format("cmd={}", message.command);
    for (const auto& [name, value] : message.fields) line += fmt::format(" {}={}", name, value);
    return line + "\n";
  }
  std::string text = fmt::format("cmd={};", doubled(message.command));
  for (const auto& [name, value] : message.fields) {
    text += fmt::format("{}={};", name, doubled(value));
  }
  return fmt::format("{:>{}}{}", text.size(), kLengthDigits, text);
}

Result<Message> decode(std::string_view text, Form form) {
  return form == Form::kLine ? decode_line(text) : decode_counted(text);
}

Result<std::optional<Decoder::Frame>> Decoder::frame() const {
  if (form_ == Form::kLine) {
    const auto end = bytes_.find('\n');
    if (end != std::string::npos && end <= kMostBytes) return std::optional(Frame{0, end, 1});
    if (bytes_.size() <= kMostBytes) return std::optional<Frame>();
    return malformed("a line is too long", bytes_);
  }
  if (bytes_.size() < kLengthDigits) return std::optional<Frame>();
  std::string_view digits(bytes_.data(), kLengthDigits);
  // Some fill up with spaces in front, some behind.
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
  const auto length = whole_number(digits);
  if (!length) return malformed("the length in front is no number", bytes_);
  if (bytes_.size() < kLengthDigits + *length) return std::optional<Frame>();
  return std::optional(Frame{kLengthDigits, *length, 0});
}

Result<std::optional<Message>> Decoder::next() {
  ASSIGN_OR_RETURN(const auto found, frame());
  if (!found) return std::optional<Message>();
  ASSIGN_OR_RETURN(Message message,
                   decode(std::string_view(bytes_).substr(found->head, found->text), form_));
  bytes_.erase(0, found->head + found->text + found->tail);
  return std::optional(std::move(message));
}

}  // namespace weft::pmi
