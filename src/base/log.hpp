// The log: one line per event, written at once, so lines of threads and processes never mix.
//
//   LOG(kWarn, "transport", "PE {} does not answer", pe);    weft[3] warn transport: PE 7 does not
//   answer
//
// The arguments are evaluated only when the line is wanted. Subsystems are folder names. Never on
// a data path below kDebug.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "src/base/status.hpp"

namespace weft {

enum class LogLevel : int { kError, kWarn, kInfo, kDebug, kTrace };

// Sets the values of WEFT_LOG and WEFT_LOG_FILE, instead of the environment that the first line
// would read.
// `levels` is "info" or "info,transport:debug"; an empty `file` is standard error.
Status configure_log(std::string_view levels, std::string_view file);

// Checks the form of `levels` without using it.
Status check_log_levels(std::string_view levels);

// This thread belongs to that PE: its lines say so. -1: to none. Threads of none belong to the PE
// of the process, if all that were set were one.
void set_log_pe(int pe) noexcept;
int log_pe() noexcept;

bool log_enabled(LogLevel level, std::string_view subsystem) noexcept;
void log_line(LogLevel level, std::string_view subsystem, std::string_view text) noexcept;

}  // namespace weft

#define LOG(level, subsystem, ...)                                                      \
  do {                                                                                  \
    if (::weft::log_enabled(::weft::LogLevel::level, subsystem))                        \
      ::weft::log_line(::weft::LogLevel::level, subsystem, ::fmt::format(__VA_ARGS__)); \
  } while (false)
