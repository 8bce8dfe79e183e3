#!/usr/bin/env python3
"""A report of what weft-perf's sets collectives, gemm and fused (--csv) and peers/torch_symmetric.py printed: report.md,
report.csv, and report.svg where python3 has matplotlib.

  perftest/kernels_report.py [--link GB/s] [--rate TFLOP/s] --out FOLDER FILE...

A FILE is a program's output behind lines "# key: value" (date, gpu, pes, command), as kernels_report.sh writes them.
ratio: the time of the fastest baseline over Weft's, above 1 Weft is ahead. ceiling: the part that was reached of what the hardware
takes: --link, GB/s that a GPU puts to another, of collectives; --rate of matrix products; of fused operators the
longer of product and NCCL alone, over the operator's time. No program's row is left out. Of a file without any the
report says so, and the exit status is 1.
"""
import argparse
import csv
import dataclasses
import pathlib
import sys

import kernels_plot
import kernels_summary

# The target of each kind of row: the least ratio. A product that is as fast as cuBLASLt's gains nothing by itself.
LEAST_RATIO = {"collective": 1.0, "product": 0.97, "fused": 1.0}
KINDS = {**dict.fromkeys(("AllReduce", "AllGather", "ReduceScatter", "AllToAll", "AllToAllV", "Broadcast", "AllReduceNorm"),
                         "collective"),
         **dict.fromkeys(("Gemm", "GemmFewRows"), "product"), **dict.fromkeys(("AgGemm", "GemmRs", "GemmAr"), "fused")}
BASELINES = {"collective": "NCCL", "AllReduceNorm": "NCCL and a kernel", "product": "cuBLASLt",
             "fused": "cuBLASLt, NCCL in turn"}


@dataclasses.dataclass
class Row:
    kind: str  # of LEAST_RATIO
    what: str
    size: str
    bytes: int  # 0: no size to draw along
    weft_us: float
    baseline: str
    baseline_us: float  # 0: none ran
    ceiling: float
    facts: dict  # of the file
    plan: str
    torch_us: float = 0  # PyTorch's

    @property
    def fastest_us(self):
        """The time of the fastest baseline; 0: none ran."""
        return min((us for us in (self.baseline_us, self.torch_us) if us), default=0)

    @property
    def ratio(self):
        return self.fastest_us / self.weft_us if self.fastest_us else None

    @property
    def verdict(self):
        if self.ratio is None:
            return ""
        return "met" if self.ratio >= LEAST_RATIO[self.kind] else "missed"


def size_text(count):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


class Parser:
    """The rows of one file: facts, then weft-perf's CSV, or the lines of torch_symmetric.py."""

    def __init__(self, link, rate):
        self.link, self.rate = link, rate
        self.facts, self.rows = {}, []
        self.torch = {}  # us of (what, size)
        self.columns = None

    def line(self, text):
        if text.startswith("# ") and ": " in text:
            key, value = text[2:].split(": ", 1)
            self.facts[key] = value
        elif text.startswith("torch: "):
            what, size, us, _ = (part.strip() for part in text.removeprefix("torch: ").split("|"))
            self.torch[what, size] = float(us)
        elif text.startswith("test,"):
            self.columns = text.split(",")
        elif self.columns:
            self.cells(next(csv.reader([text])))

    def cells(self, cells):
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells, and {len(self.columns)} columns")
        cell = dict(zip(self.columns, cells))
        kind = KINDS[cell["test"].rpartition("_")[0]]
        if cell["error"]:
            raise ValueError(cell["error"])
        self.add(kind, cell)

    def add(self, kind, cell):
        what = cell["test"].rpartition("_")[0].replace("GemmFewRows", "Gemm")
        count = int(cell["bytes"]) if kind == "collective" else 0
        self.rows.append(Row(
            kind=kind, what=f"{what} {cell['layer'].removeprefix('hidden ')}".strip(),
            size=size_text(count) if count else cell["shape"], bytes=count, weft_us=float(cell["p50_ns"]) / 1e3,
            baseline=BASELINES.get(what, BASELINES[kind]), baseline_us=float(cell["baseline_p50_ns"] or 0) / 1e3,
            ceiling=self.ceiling(kind, cell), facts=self.facts, plan=cell["plan"]))

    def ceiling(self, kind, cell):
        if kind == "fused":
            return float(cell["efficiency"])
        return float(cell["bandwidth_gb_s"]) / self.link if kind == "collective" else float(cell["tflop_s"]) / self.rate


def parse(path, link, rate):
    parser = Parser(link, rate)
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            parser.line(text)
        except (ValueError, KeyError) as error:
            sys.exit(f"{path}:{number}: not as the programs print it ({error}): {text}")
    return parser


COLUMNS = ("what", "size", "Weft us", "baseline", "baseline us", "PyTorch us", "ratio", "target", "verdict", "ceiling", "date", "GPU",
           "command", "plan")


def cells(row):
    facts = row.facts
    return (row.what, row.size, f"{row.weft_us:.2f}", row.baseline if row.baseline_us else "none",
            f"{row.baseline_us:.2f}" if row.baseline_us else "", f"{row.torch_us:.2f}" if row.torch_us else "",
            f"{row.ratio:.2f}" if row.ratio else "",
            f">= {LEAST_RATIO[row.kind]:.2f}", row.verdict, f"{row.ceiling:.0%}", facts.get("date", ""),
            f"{facts.get('pes', '?')} x {facts.get('gpu', '?')}", facts.get("command", ""), row.plan)


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(map(cells, rows))


def table(parser):
    """A run's rows below its command, GPU and date; those are no columns then."""
    facts = parser.facts
    text = ["", f"## {facts.get('command', 'unknown command')}", "",
            f"{facts.get('pes', '?')} x {facts.get('gpu', '?')}, {facts.get('date', '')}", ""]
    if "failed" in facts:
        text += [f"**It failed**, and has no more rows than these: {facts['failed']}", ""]
    if "baseline" in facts:
        text += [facts["baseline"], ""]
    if parser.torch:
        return text + ["Its times are in the column of PyTorch.", ""]
    if not parser.rows:
        return text + ["No rows.", ""]
    keep = [i for i, name in enumerate(COLUMNS) if name not in ("date", "GPU", "command")]
    lines = [[cells(row)[i].replace("|", "/") for i in keep] for row in parser.rows]
    text += kernels_summary.grid([COLUMNS[i] for i in keep], lines)
    return text


def markdown(runs, plot):
    verdicts = [row.verdict for run in runs for row in run.rows if row.verdict]
    text = ["# Operators of weft::kernels beside their baselines", "",
            "ratio: the time of the fastest baseline over Weft's. ceiling: the reached part of what the hardware takes.", "",
            *plot, f"{verdicts.count('met')} of {len(verdicts)} targets met.", "",
            "In short, microseconds of a call, Weft's / the fastest baseline's; behind fused operators their efficiency.",
            *kernels_summary.summary([row for run in runs for row in run.rows]), ""]
    for run in runs:
        text += table(run)
    return "\n".join(text) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--link", type=float, default=370.0, help="GB/s; what 128 blocks put to a peer on an H200")
    arguments.add_argument("--rate", type=float, default=790.0, help="TFLOP/s; cuBLASLt's at 8192^3 on an H200")
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("files", type=pathlib.Path, nargs="+")
    given = arguments.parse_args()
    if given.link <= 0 or given.rate <= 0:
        arguments.error("--link and --rate are above 0")
    runs = [parse(path, given.link, given.rate) for path in given.files]
    rows = [row for run in runs for row in run.rows]
    for row in rows:
        row.torch_us = next((run.torch[row.what, row.size] for run in runs if (row.what, row.size) in run.torch), 0)
    given.out.mkdir(parents=True, exist_ok=True)
    write_csv(given.out / "report.csv", rows)
    why_no_plot = kernels_plot.draw(rows, given.out / "report.svg")
    text = markdown(runs, [] if why_no_plot else ["![Times](report.svg)", ""])
    (given.out / "report.md").write_text(text, encoding="utf-8")
    print(text)
    if why_no_plot:
        print(f"kernels_report.py: {why_no_plot}", file=sys.stderr)
    empty = [str(path) for path, run in zip(given.files, runs) if not run.rows and not run.torch]
    if empty:
        sys.exit(f"{', '.join(empty)}: has no row of weft-perf's sets collectives, gemm or fused")


if __name__ == "__main__":
    main()
