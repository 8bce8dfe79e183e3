// NVRTC, found at run time as a program may do: nothing here needs CUDA to be built.
#pragma once

#include <string>
#include <vector>

#include <weft/result.hpp>

namespace weft {

struct Compiled {
  std::string ptx, cubin;
};

class Nvrtc {
 public:
  // The installed NVRTC, or an error that says that none is installed.
  static Result<Nvrtc> open();

  // As C++17 for a GPU like "sm_90", with Weft's headers on the include path. The compiler's log is
  // the text of a failure.
  Result<Compiled> compile(const std::string& source, const std::string& gpu,
                           const std::vector<std::string>& more_options = {}) const;

 private:
  using Program = void*;
  using Error = int;

  struct Calls {
    Error (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                    const char* const*);
    Error (*destroy)(Program*);
    Error (*compile)(Program, int count, const char* const* options);
    Error (*log_size)(Program, std::size_t*);
    Error (*log)(Program, char*);
    Error (*ptx_size)(Program, std::size_t*);
    Error (*ptx)(Program, char*);
    Error (*cubin_size)(Program, std::size_t*);
    Error (*cubin)(Program, char*);
  };
  static std::string text(Program program, Error (*size)(Program, std::size_t*),
                          Error (*get)(Program, char*));

  Calls calls_{};
};

}  // namespace weft
