#include "tests/rtc/nvrtc.hpp"

#include "src/base/dynlib.hpp"
#include "src/base/status.hpp"

namespace weft {

Result<Nvrtc> Nvrtc::open() {
  const std::string names[] = {WEFT_NVRTC_LIBRARY, "libnvrtc.so", "libnvrtc.so.13",
                               "libnvrtc.so.12"};
  ASSIGN_OR_RETURN(const Dynlib library, Dynlib::open(names));
  Nvrtc made;
  Calls& calls = made.calls_;
  RETURN_IF_ERROR(library.find("nvrtcCreateProgram", calls.create));
  RETURN_IF_ERROR(library.find("nvrtcDestroyProgram", calls.destroy));
  RETURN_IF_ERROR(library.find("nvrtcCompileProgram", calls.compile));
  RETURN_IF_ERROR(library.find("nvrtcGetProgramLogSize", calls.log_size));
  RETURN_IF_ERROR(library.find("nvrtcGetProgramLog", calls.log));
  RETURN_IF_ERROR(library.find("nvrtcGetPTXSize", calls.ptx_size));
  RETURN_IF_ERROR(library.find("nvrtcGetPTX", calls.ptx));
  RETURN_IF_ERROR(library.find("nvrtcGetCUBINSize", calls.cubin_size));
  RETURN_IF_ERROR(library.find("nvrtcGetCUBIN", calls.cubin));
  return made;
}

std::string Nvrtc::text(Program program, Error (*size)(Program, std::size_t*),
                        Error (*get)(Program, char*)) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != 0) return "";
  std::string all(bytes, '\0');
  return get(program, all.data()) == 0 ? all : "";
}

Result<Compiled> Nvrtc::compile(const std::string& source, const std::string& gpu,
                                const std::vector<std::string>& more_options) const {
  std::vector<std::string> options = {"-std=c++17", "-arch=" + gpu, "-I" WEFT_SOURCE_DIR "/include",
                                      "-I" WEFT_SOURCE_DIR "/device",
                                      "-I" WEFT_SOURCE_DIR "/include/weft/rtc"};
  options.insert(options.end(), more_options.begin(), more_options.end());
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());

  Program program = nullptr;
  if (calls_.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    return Status::error(Code::kInternal, "nvrtcCreateProgram failed");
  const bool good = calls_.compile(program, static_cast<int>(words.size()), words.data()) == 0;
  const std::string log = text(program, calls_.log_size, calls_.log);
  Compiled compiled{text(program, calls_.ptx_size, calls_.ptx),
                    text(program, calls_.cubin_size, calls_.cubin)};
  calls_.destroy(&program);
  if (!good) return Status::error(Code::kInvalidArgument, log);
  return compiled;
}

}  // namespace weft
