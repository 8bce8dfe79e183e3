// For messages: what a PE has done that called abort().
#pragma once

#include <string>

namespace weft {

// "aborted the job with code 3". Code 0 ends the job in success, "ended the job with code 0", so a
// failure whose text says that is logged as news, not as an error.
std::string abort_text(int code);

}  // namespace weft
