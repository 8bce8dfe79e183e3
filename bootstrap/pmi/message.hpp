// Messages of the PMI wire protocols: a command and its fields. Pure: text in, messages out.
//
//   PMI-1    cmd=put kvsname=kvs_7 key=where value=2b61\n           a line
//   PMI-2        39cmd=kvs-put;key=where;value=2b61;;3a;            six characters of length in
//                                                                   front, ; doubled in a value
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/result.hpp>

namespace weft::pmi {

enum class Form { kLine, kCounted };

struct Message {
  std::string command;
  std::vector<std::pair<std::string, std::string>> fields;

  // Null if it is not there.
  const std::string* find(std::string_view name) const;
  // Empty if it is not there.
  std::string text(std::string_view name) const;
  // -1 if it is not there, or is no number.
  int number(std::string_view name) const;
};

// Longer ones are refused, in either form.
inline constexpr std::size_t kMostBytes = 999'999;

// A value in a line must have neither spaces nor ends of lines.
std::string encode(const Message& message, Form form);

// Without the end of the line, or the length in front.
Result<Message> decode(std::string_view text, Form form);

// Cuts a stream into messages.
class Decoder {
 public:
  explicit Decoder(Form form) : form_(form) {}
  // From here on; what has been fed already counts.
  void set_form(Form form) { form_ = form; }
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // Nothing if the rest has not come yet. An error is final.
  Result<std::optional<Message>> next();

 private:
  // The length of what stands in front of the text, of the text, and of what stands behind.
  struct Frame {
    std::size_t head, text, tail;
  };
  Result<std::optional<Frame>> frame() const;

  Form form_;
  std::string bytes_;
};

}  // namespace weft::pmi
