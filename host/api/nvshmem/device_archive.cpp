// libnvshmem_device.a, for programs that link it: what it would hold is in the headers.
extern "C" [[gnu::visibility("hidden")]] const char weft_nvshmem_device[];
const char weft_nvshmem_device[] = "see nvshmem/device.hpp";
