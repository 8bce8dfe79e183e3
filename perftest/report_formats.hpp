// The three forms of a report.
#pragma once

#include "perftest/report.hpp"

namespace weft::perf {

std::unique_ptr<Reporter> make_table_reporter(const Options& options, std::ostream& out);
std::unique_ptr<Reporter> make_csv_reporter(std::ostream& out);
std::unique_ptr<Reporter> make_json_reporter(std::ostream& out);

}  // namespace weft::perf
