#include "bootstrap/run/arguments.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <weft/version.hpp>

#include "src/base/environment.hpp"
#include "src/base/status.hpp"

namespace weft::run {
namespace {

constexpr const char* kAbout =
    "Runs a program as the PEs of a job, on this host or on those of --hosts.\n\n"
    "Output comes line by line; standard input goes to a PE 0 on this host. When one PE fails, its "
    "last words "
    "are\n"
    "shown, the others are ended, and its status is weft-run's: the exit code, or 128 + the "
    "signal.";

constexpr const char* kFooter =
    "\nExit status: 0 if every PE returned 0; 2 wrong usage; 124 --timeout; 126 program not\n"
    "executable; 127 program not found; else that of the first PE that failed.\n"
    "Start-up options come from the environment (WEFT_START_TIMEOUT, WEFT_BIND_ADDRESS and\n"
    "WEFT_BIND_PORT; all of them: weft-info --options).";

class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: weft-run -n N [options] program [arguments]\n";
  }
};

BindTo bind_to(const std::string& text) {
  if (text == "core") return BindTo::kCore;
  if (text == "socket") return BindTo::kSocket;
  return text == "numa" ? BindTo::kNuma : BindTo::kNone;
}

int wrong_usage(const std::string& what) {
  fmt::print(stderr,
             "weft-run: {}\nusage: weft-run -n N [options] program [arguments]; "
             "weft-run --help explains\n",
             what);
  return kExitUsage;
}

Status parse_assignment(const std::string& text, Arguments& arguments) {
  const auto equals = text.find('=');
  std::string name = text.substr(0, equals);
  const auto present = environment_value(name.c_str());
  if (name.empty() || (equals == std::string::npos && !present)) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("-x {}: it must be NAME=VALUE, or the NAME of a variable that "
                                     "is set here",
                                     text));
  }
  if (name == "WEFT_UNIQUE_ID" || name == "WEFT_PE" || name == "WEFT_NPES") {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("-x {}: weft-run itself sets {}", text, name));
  }
  std::string value = equals == std::string::npos ? *present : text.substr(equals + 1);
  arguments.environment.emplace_back(std::move(name), std::move(value));
  return Status::ok();
}

Status take_hosts(const std::string& list, const std::string& file, Arguments& arguments) {
  if (list.empty() && file.empty()) return Status::ok();
  if (!list.empty() && !file.empty()) {
    return Status::error(Code::kInvalidArgument, "--hosts and --hostfile: one of them");
  }
  if (arguments.report_bindings) {
    return Status::error(Code::kInvalidArgument, "--report-bindings works on this host only");
  }
  ASSIGN_OR_RETURN(arguments.hosts, list.empty() ? read_hostfile(file) : parse_hosts(list));
  arguments.pmi = false;  // its socket reaches no further than this host
  return place(arguments.npes, arguments.hosts);
}

// Everything from the first word that is no option of ours is the program's.
Status take_command(std::vector<std::string> words, Arguments& arguments) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) return Status::error(Code::kInvalidArgument, "which program?");
  if (words.front().starts_with("-")) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("there is no option {}. weft-run's options come before the "
                                     "program, the program's own after it",
                                     words.front()));
  }
  arguments.command = std::move(words);
  return Status::ok();
}

// -np, as mpirun has it, to -n. The number comes before the program, so the first is weft-run's.
std::vector<std::string> with_plain_number(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  const auto is_number = [](const std::string& word) {
    return word.starts_with("-n") || word.starts_with("--npes");
  };
  const auto number = std::ranges::find_if(words, is_number);
  if (number != words.end() && *number == "-np") *number = "-n";
  return words;
}

}  // namespace

std::optional<int> parse_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app(kAbout, "weft-run");
  app.formatter(std::make_shared<Help>());
  app.footer(kFooter);
  app.prefix_command();
  app.set_version_flag("--version", std::string("weft-run ") + WEFT_VERSION);
  app.add_option("-n,--npes", arguments.npes, "How many PEs; -np is the same")
      ->required()
      ->type_name("N")
      ->check(CLI::Range(1, 1048576).description(""));
  app.add_flag("--prefix", arguments.prefix, "Put the PE in front of each line of output: [3] ...");
  app.add_option("--output-dir", arguments.output_dir,
                 "Write output to DIR/pe<N>.out and DIR/pe<N>.err instead of forwarding it")
      ->type_name("DIR");
  app.add_option("--timeout", arguments.timeout_s, "End the job after so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9).description(""));
  app.add_option("--grace", arguments.grace_s,
                 "Time between SIGTERM and SIGKILL for PEs that have to end")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->capture_default_str();
  std::string bind = "none";
  app.add_option("--bind", bind, "Bind each PE to a unit of the machine")
      ->check(CLI::IsMember({"none", "core", "socket", "numa"}).description(""))
      ->type_name("none|core|socket|numa")
      ->capture_default_str();
  app.add_flag("--report-bindings", arguments.report_bindings, "Say where each PE is bound");
  std::string pmi = "1";
  app.add_option("--pmi", pmi, "Serve PMI of this version to programs that speak it (MPICH's)")
      ->check(CLI::IsMember({"1", "none"}).description(""))
      ->type_name("1|none")
      ->capture_default_str();
  std::string hosts, hostfile;
  app.add_option("--hosts", hosts,
                 "Run on these hosts: node0,node1:4 gives node1 four PEs and node0 the rest")
      ->type_name("LIST");
  app.add_option("--hostfile", hostfile,
                 "The same from a file, one host a line; also as node1 slots=4")
      ->type_name("FILE");
  app.add_option("--rsh", arguments.rsh, "Remote shell: called with a host and a command line")
      ->type_name("COMMAND")
      ->default_val("ssh -o BatchMode=yes");
  std::vector<std::string> assignments;
  app.add_option("-x", assignments,
                 "Set a variable for the PEs, or pass this one on to other hosts; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->take_all()
      ->allow_extra_args(false);

  try {
    std::vector<std::string> words = with_plain_number(argc, argv);
    words.erase(words.begin());
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return 0;
  } catch (const CLI::Error& error) {
    return wrong_usage(error.what());
  }
  arguments.bind = bind_to(bind);
  arguments.pmi = pmi == "1";
  if (Status status = take_hosts(hosts, hostfile, arguments); !status.is_ok()) {
    return wrong_usage(std::string(status.text()));
  }
  for (const std::string& text : assignments) {
    if (Status status = parse_assignment(text, arguments); !status.is_ok()) {
      return wrong_usage(std::string(status.text()));
    }
  }
  if (Status status = take_command(app.remaining(), arguments); !status.is_ok()) {
    return wrong_usage(std::string(status.text()));
  }
  return std::nullopt;
}

}  // namespace weft::run
