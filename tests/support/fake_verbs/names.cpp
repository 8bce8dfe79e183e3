#include <iterator>

#include "tests/support/fake_verbs/objects.hpp"

FAKE_VERB const char* ibv_wc_status_str(ibv_wc_status status) {
  static constexpr const char* kNames[] = {
      "success",
      "local length error",
      "local QP operation error",
      "local EE context operation error",
      "local protection error",
      "Work Request Flushed Error",
      "memory management operation error",
      "bad response error",
      "local access error",
      "remote invalid request error",
      "remote access error",
      "remote operation error",
      "transport retry counter exceeded",
      "RNR retry counter exceeded",
      "local RDD violation error",
      "remote invalid RD request",
      "aborted error",
      "invalid EE context number",
      "invalid EE context state",
      "fatal error",
      "response timeout error",
      "general error",
      "TM error",
      "TM software rendezvous",
  };
  return status >= 0 && status < std::size(kNames) ? kNames[status] : "unknown";
}
