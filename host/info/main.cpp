// weft-info: what this build of Weft is, what this machine offers it, and what is missing and why.
#include <weft/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "host/info/doctor.hpp"
#include "host/info/option_list.hpp"
#include "host/info/sections.hpp"
#include "host/info/topology.hpp"
#include "src/base/files.hpp"
#include "src/base/log.hpp"
#include "src/base/option_table.hpp"
#include "src/base/status.hpp"

namespace weft::info {
namespace {

struct Arguments {
  bool options = false;
  bool markdown = false;
  bool json = false;
  bool doctor = false;
  bool topology = false;
  bool svg = false;
  bool record = false;
  std::string machine;  // a file; empty: this one
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int print_options(const Arguments& arguments) {
  if (arguments.markdown)
    print(options_markdown());
  else if (arguments.json)
    print(options_json().dump(2) + "\n");
  else
    print(options_text());
  return 0;
}

Result<MachineFacts> machine_of(const Arguments& arguments) {
  if (arguments.machine.empty()) return look_at_devices();
  const std::string text = file_text(arguments.machine);
  if (text.empty())
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} is empty or cannot be read", arguments.machine));
  return parse_machine(text);
}

int print_topology(const Arguments& arguments) {
  const Result<MachineFacts> machine = machine_of(arguments);
  if (!machine.is_ok()) {
    fmt::print(stderr, "weft-info: {}\n", machine.status().text());
    return 1;
  }
  if (arguments.json)
    print(topology_json(*machine).dump(2) + "\n");
  else if (arguments.record)
    print(record_of(*machine));
  else
    print(arguments.svg ? as_svg(draw(*machine)) : as_text(draw(*machine)));
  return 0;
}

void print_diagnoses(const Arguments& arguments, const std::vector<Diagnosis>& diagnoses) {
  nlohmann::json all = nlohmann::json::array();
  for (const Diagnosis& each : diagnoses) {
    if (arguments.json)
      all.push_back({{"host", each.host},
                     {"pe", each.pe},
                     {"well", each.wrong.empty()},
                     {"checks", each.data}});
    else
      print(fmt::format("{}{}{}: {}   (+ fine, - wrong)\n\n{}", each.pe > 0 ? "\n" : "", each.host,
                        each.pe < 0 ? "" : fmt::format(" (PE {})", each.pe),
                        each.wrong.empty() ? "well" : "not well", each.text));
  }
  if (arguments.json) print(all.dump(2) + "\n");
}

// Each PE examines its host; PE 0 tells what all found.
int print_doctor(const Arguments& arguments) {
  const Result<Options> environment = Options::from_environment();
  const Options options = environment.value_or(Options{});
  std::vector<Section> sections = {host_checks(this_host()), tried_checks(options)};
  Result<Runtime> runtime = environment.is_ok() ? Runtime::create(options) : environment.status();
  if (!runtime.is_ok()) {
    sections.push_back({"test run", {missing("job", std::string(runtime.status().text()))}});
    print_diagnoses(arguments, {diagnosis_of(-1, sections)});
    return 1;
  }
  sections.push_back(test_run(*runtime));
  const Diagnosis mine = diagnosis_of(runtime->pe(), sections);
  const Result<std::vector<Diagnosis>> all = gather(*runtime, mine);
  if (!all.is_ok()) {
    print_diagnoses(arguments, {mine});
    fmt::print(stderr, "weft-info: cannot gather what other PEs found: {}\n", all.status().text());
    return 1;
  }
  if (runtime->pe() == 0) print_diagnoses(arguments, *all);
  const bool well =
      std::all_of(all->begin(), all->end(), [](const auto& each) { return each.wrong.empty(); });
  return well || runtime->pe() != 0 ? 0 : 1;  // PE 0 speaks for all
}

// As one PE of a job that weft-run started, PE 0 speaks for all; else this is a job of one.
int print_summary(const Arguments& arguments) {
  std::vector<Section> sections = {build_section(), machine_section(), limits_section(),
                                   options_set()};
  const Result<Options> environment = Options::from_environment();
  const Options options = environment.value_or(Options{});
  sections.push_back(capabilities_section(options));
  sections.push_back(launchers_section(options));
  Result<std::unique_ptr<Bootstrap>> made = make_bootstrap(options);
  const std::unique_ptr<Bootstrap> bootstrap =
      made.is_ok() ? std::move(*made) : make_single_bootstrap();
  for (Section& section : transport_sections(options, *bootstrap)) {
    sections.push_back(std::move(section));
  }
  const Status left = bootstrap->leave();
  if (bootstrap->pe() == 0) {
    if (arguments.json)
      print(as_json(sections).dump(2) + "\n");
    else
      print("Weft " WEFT_VERSION "   (+ there, - not there)\n\n" + as_text(sections));
  }
  int exit_code = 0;
  for (const Status& status : {environment.status(), made.status(), left}) {
    if (status.is_ok()) continue;
    std::fflush(stdout);
    fmt::print(stderr, "weft-info: {}\n", status.text());
    exit_code = 1;
  }
  return exit_code;
}

}  // namespace
}  // namespace weft::info

int main(int argc, char** argv) {
  CLI::App app(
      "What this build of Weft is, what this machine offers it, and what is missing and why.");
  weft::info::Arguments arguments;
  app.set_version_flag("--version", "Weft " WEFT_VERSION);
  auto* options =
      app.add_flag("--options", arguments.options,
                   "Every option: value, default, range, meaning; * marks the environment's");
  auto* json = app.add_flag("--json", arguments.json, "The same as JSON");
  app.add_flag("--markdown", arguments.markdown, "With --options: docs/reference/options.md")
      ->needs(options)
      ->excludes(json);
  auto* doctor = app.add_flag("--doctor", arguments.doctor,
                              "What a job needs of this host, and a test run: fine, or wrong and "
                              "what mends it")
                     ->excludes(options);
  auto* topology = app.add_flag("--topology", arguments.topology,
                                "Where GPUs and RDMA ports sit, and which port is nearest")
                       ->excludes(options)
                       ->excludes(doctor);
  auto* svg = app.add_flag("--svg", arguments.svg, "With --topology: a drawing")
                  ->needs(topology)
                  ->excludes(json);
  app.add_flag("--record", arguments.record, "With --topology: the machine as --machine reads it")
      ->needs(topology)
      ->excludes(json)
      ->excludes(svg);
  app.add_option("--machine", arguments.machine, "With --topology: of the machine in this file")
      ->needs(topology);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help and --version arrive here too
  }
  if (arguments.doctor) return weft::info::print_doctor(arguments);
  if (arguments.topology) return weft::info::print_topology(arguments);
  return arguments.options ? weft::info::print_options(arguments)
                           : weft::info::print_summary(arguments);
}
