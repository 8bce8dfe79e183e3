#!/usr/bin/env python3
"""Runs every row of weft-perf once, tiny, on threads, with its hand-written baseline: all data must be
right, and what --json and --csv say must be complete. No time is judged."""
import csv
import io
import json
import subprocess
import sys

FIELDS = ["test", "api", "kind", "layer", "shape", "bytes", "count", "type", "op", "atomic", "scope", "iters",
          "batch", "samples", "min_ns", "p50_ns", "p99_ns", "bandwidth_gb_s", "rate_mops", "tflop_s", "baseline",
          "baseline_p50_ns", "speedup", "efficiency", "others_p50_ns", "workspace_bytes", "plan", "error"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def listed(program):
    """(test, api) of every row that `list` names."""
    rows = set()
    for line in run(program, "list", "all").splitlines():
        words = line.split()
        if not line.startswith(" ") and len(words) > 2 and words[1] in ("host", "device"):
            rows.add((words[0], words[1]))
    return rows


def check_result(result):
    assert list(result) == FIELDS, list(result)
    assert result["error"] is None, result["error"]
    assert result["iters"] >= 1 and result["samples"] >= 1, result
    assert 0 < result["min_ns"] <= result["p50_ns"] <= result["p99_ns"], result
    assert (result["bandwidth_gb_s"] is not None) == (result["kind"] == "bandwidth"), result
    assert (result["rate_mops"] is not None) == (result["kind"] != "latency"), result


def main():
    program, npes = sys.argv[1:3]
    few = ["--pes", npes, "-n", "3"]
    sizes = ["-b", "8", "-e", "520", "-f", "65"]
    document = json.loads(run(program, "all", *few, *sizes, "--floor", "-t", "3", "--json"))
    print("seed", document["run"]["seed"])
    assert document["run"]["pes"] == int(npes) and document["run"]["mode"] == "threads"
    for result in document["results"]:
        check_result(result)
    ran = {(result["test"], result["api"]) for result in document["results"]}
    assert ran == listed(program), ran ^ listed(program)
    baselines = {key for key, test in document["tests"].items() if test["baseline"]}
    for result in document["results"]:
        baseline = f"{result['test']}/{result['api']}" in baselines
        assert (result["baseline_p50_ns"] is not None) == baseline, result
        assert (result["baseline"], result["speedup"] is not None) == ("floor" if baseline else None, baseline), result

    # Both directions, another type, every operator; as CSV.
    text = run(program, "all", "--api", "host", *few, *sizes, "--bidir", "-d", "int", "-o", "all", "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows and list(rows[0]) == FIELDS, rows[:1]
    assert all(row["error"] == "" for row in rows), rows

    # Other types; and every scope of a grid whose blocks are no multiple of a warp.
    for extra in (["-d", "float", "-o", "all", *sizes],
                  ["-d", "longdouble", "--api", "host", *sizes],
                  ["-d", "schar", "-o", "all", "--api", "host", "-b", "1", "-e", "77", "-f", "77"],
                  ["-d", "double", "--api", "device", "-s", "all", "-c", "2", "-t", "5", "-b", "520",
                   "-e", "520"]):
        document = json.loads(run(program, "all", *few, *extra, "--json"))
        assert document["results"], extra
        for result in document["results"]:
            check_result(result)
    print(len(ran), "rows")


if __name__ == "__main__":
    main()
