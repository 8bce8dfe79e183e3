// CSV and JSON: the same fields, the same names.
#include "perftest/report_formats.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::perf {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(bool there, double value) { return there ? Json(value) : Json(); }

Json fields(const Line& line) {
  const Row& row = *line.row;
  const Measurement& m = line.measured;
  const bool right = m.wrong.empty();
  const bool timed = right && m.time.samples != 0;
  const bool baseline = right && line.has_baseline();
  const auto if_used = [&](unsigned use, Json value) {
    return (row.uses & use) != 0 ? value : Json();
  };
  Json f;
  f["test"] = id(row);
  f["api"] = to_string(row.api);
  f["kind"] = to_string(row.kind);
  f["layer"] = if_used(kUsesLayer, line.layer);
  f["shape"] = if_used(kUsesShape, line.shape);
  f["bytes"] = if_used(kUsesSize, line.point.bytes);
  f["count"] = if_used(kUsesSize, line.point.count());
  f["type"] = if_used(kUsesType, line.point.type->name);
  f["op"] = if_used(kUsesOp, to_string(line.point.op));
  f["atomic"] = if_used(kUsesAtomic, to_string(line.point.atomic));
  f["scope"] = if_used(kUsesScope, to_string(line.point.scope));
  f["iters"] = m.iters;
  f["batch"] = m.batch;
  f["samples"] = m.time.samples;
  f["min_ns"] = number_or_null(timed, m.time.min);
  f["p50_ns"] = number_or_null(timed, m.time.p50);
  f["p99_ns"] = number_or_null(timed, m.time.p99);
  f["bandwidth_gb_s"] = number_or_null(timed && row.kind == Kind::kBandwidth, line.bandwidth());
  f["rate_mops"] = number_or_null(timed && row.kind != Kind::kLatency, line.rate());
  f["tflop_s"] = number_or_null(timed && (row.uses & kUsesFlops) != 0, line.tflops());
  f["baseline"] = baseline ? Json(line.baseline) : Json();
  f["baseline_p50_ns"] = number_or_null(baseline, m.floor.p50);
  f["speedup"] = number_or_null(baseline, line.speedup());
  f["efficiency"] = number_or_null(line.efficiency > 0, line.efficiency);
  f["others_p50_ns"] = Json();
  for (const Timed& other : line.others) f["others_p50_ns"][other.name] = other.p50;
  f["workspace_bytes"] = line.workspace == 0 ? Json() : Json(line.workspace);
  f["plan"] = line.plan.empty() ? Json() : Json(line.plan);
  f["error"] = right ? Json() : Json(m.wrong);
  return f;
}

Json fields(const Claim& claim) {
  Json f;
  f["claim"] = claim.what;
  f["measured"] = claim.measured;
  f["floor"] = claim.floor.empty() ? Json() : Json(claim.floor);
  f["ratio"] = number_or_null(claim.ratio > 0, claim.ratio);
  f["value"] = number_or_null(claim.wrong.empty(), claim.value);
  f["limit"] = claim.limit;
  f["unit"] = claim.unit;
  f["held"] = claim.held();
  f["note"] = claim.note.empty() ? Json() : Json(claim.note);
  f["error"] = claim.wrong.empty() ? Json() : Json(claim.wrong);
  return f;
}

Json fields(const RunInfo& info) {
  return {{"weft", info.version},    {"pes", info.pes},           {"mode", info.mode},
          {"build", info.build},     {"compiler", info.compiler}, {"cpu", info.cpu},
          {"gpu", info.gpu},         {"cores", info.cores},       {"blocks", info.blocks},
          {"threads", info.threads}, {"bidir", info.bidir},       {"pinned", info.pinned},
          {"seed", info.seed},       {"warnings", info.warnings}};
}

// RFC 4180: quoted where needed, quotes doubled.
std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_object()) {
    std::string all;
    for (const auto& [key, one] : value.items())
      all += fmt::format("{}{}={}", all.empty() ? "" : ";", key, one.dump());
    return all;
  }
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

class Csv : public Reporter {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}
  void begin(const RunInfo&) override {}
  void start(const Row&) override {}
  void add(const Line& line) override { print(fields(line)); }
  void finish(const Row&) override {}
  void add(const Claim& claim) override { print(fields(claim)); }
  void end(bool) override { out_.flush(); }

 private:
  void print(const Json& f) {
    std::string head, line;
    for (const auto& [key, value] : f.items()) {
      head += (head.empty() ? "" : ",") + key;
      line += (&value == &f.begin().value() ? "" : ",") + csv_cell(value);
    }
    if (!started_) out_ << head << '\n';
    started_ = true;
    out_ << line << '\n';
    out_.flush();
  }

  std::ostream& out_;
  bool started_ = false;
};

class JsonDocument : public Reporter {
 public:
  explicit JsonDocument(std::ostream& out) : out_(out) {}
  void begin(const RunInfo& info) override { document_["run"] = fields(info); }
  void start(const Row& row) override {
    document_["tests"][id(row) + "/" + std::string(to_string(row.api))] = {
        {"what", row.what}, {"formula", row.formula}, {"baseline", row.floor}};
  }
  void add(const Line& line) override { document_["results"].push_back(fields(line)); }
  void finish(const Row&) override {}
  void add(const Claim& claim) override { document_["claims"].push_back(fields(claim)); }
  void end(bool stopped) override {
    document_["interrupted"] = stopped;
    out_ << document_.dump(2) << '\n';
    out_.flush();
  }

 private:
  std::ostream& out_;
  Json document_;
};

}  // namespace

std::unique_ptr<Reporter> make_csv_reporter(std::ostream& out) {
  return std::make_unique<Csv>(out);
}
std::unique_ptr<Reporter> make_json_reporter(std::ostream& out) {
  return std::make_unique<JsonDocument>(out);
}

}  // namespace weft::perf
