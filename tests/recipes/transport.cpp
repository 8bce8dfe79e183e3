// The conformance suite of transports, on the recipe's: three PEs, by themselves and with faults.
#include "tests/conformance/transport_job.cpp"
#include "tests/conformance/transport_test.cpp"

namespace weft {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Sample, TransportTest,
    ::testing::Values(TransportJob{"plain", PesAre::kThreads, 3, "sample,loopback", ""},
                      TransportJob{"late", PesAre::kThreads, 3, "sample,loopback",
                                   "late=1,delay=0.2,duplicate=0.3,busy=0.2,max_bytes=1000"}),
    job_name);

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::GTEST_FLAG(filter) = "Sample/*";
  return RUN_ALL_TESTS();
}
