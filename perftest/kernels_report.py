#!/usr/bin/env python3
"""A report of what weft-gpu-kernels, weft-gpu-gemm, weft-gpu-fused and peers/torch_symmetric.py printed: report.md,
report.csv, report.svg.

  perftest/kernels_report.py [--link GB/s] [--rate TFLOP/s] --out FOLDER FILE...

A FILE is a program's output behind lines "# key: value" (date, gpu, pes, command), as kernels_report.sh writes them.
ratio: the time of the fastest peer over Weft's, above 1 Weft is ahead. ceiling: the part that was reached of what the hardware
takes: --link, GB/s that a GPU puts to another, of collectives; --rate of matrix products; of fused operators the
longer of product and NCCL alone, over the operator's time. No program's row is left out. Of a file without any the
report says so, and the exit status is 1.
"""
import argparse
import csv
import dataclasses
import pathlib
import re
import sys

import kernels_plot
import kernels_summary

# The target of each kind of row: the least ratio. A product that is as fast as cuBLASLt's gains nothing by itself.
LEAST_RATIO = {"collective": 1.0, "product": 0.97, "fused": 1.0}
COLLECTIVE = re.compile(r"^(\w+(?: \d+)?): workspace of ")


@dataclasses.dataclass
class Row:
    kind: str  # of LEAST_RATIO
    what: str
    size: str
    bytes: int  # 0: no size to draw along
    weft_us: float
    peer: str
    peer_us: float  # 0: none ran
    ceiling: float
    facts: dict  # of the file
    plan: str
    torch_us: float = 0  # PyTorch's

    @property
    def fastest_us(self):
        """The time of the fastest peer; 0: none ran."""
        return min((us for us in (self.peer_us, self.torch_us) if us), default=0)

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
    """The rows of one file, line by line. A line that begins a table says what the next ones are."""

    def __init__(self, link, rate):
        self.link, self.rate = link, rate
        self.facts, self.rows = {}, []
        self.torch = {}  # us of (what, size)
        self.collective = self.fused = None
        self.peer = "NCCL"

    def line(self, text):
        head = COLLECTIVE.match(text)
        if text.startswith("# ") and ": " in text:
            key, value = text[2:].split(": ", 1)
            self.facts[key] = value
        elif text.startswith("without NCCL: "):
            self.facts["peer"] = text
        elif text.startswith("torch: "):
            what, size, us, _ = (part.strip() for part in text.removeprefix("torch: ").split("|"))
            self.torch[what, size] = float(us)
        elif head:
            self.collective, self.fused = head[1], None
        elif self.collective and "ratio" in text.split():
            self.peer = "NCCL and a kernel" if "NCCL+" in text else "NCCL"
        elif "| plan" in text or text.rstrip().endswith("| plan"):
            self.fused, self.collective = text.split(",")[0], None
        elif self.fused and text.count("|") >= 4:
            self.of_fused([part.strip() for part in text.split("|")])
        elif "cuBLASLt" in text and "TFLOP/s" in text:
            self.of_product(text.split())
        elif self.collective and re.match(r"^ *\d+ +\d", text):
            self.of_collective(text.split(None, 6))

    def add(self, **fields):
        self.rows.append(Row(facts=self.facts, **fields))

    def of_collective(self, words):
        count, us, rate, peer_us, _, _, plan = words
        self.add(kind="collective", what=self.collective, size=size_text(int(count)), bytes=int(count),
                 weft_us=float(us), peer=self.peer, peer_us=float(peer_us), ceiling=float(rate) / self.link,
                 plan=plan.strip())

    def of_product(self, words):
        # M N K, us "us" rate "TFLOP/s" "cuBLASLt" us "us" rate "ratio" ratio plan
        m, n, k, us, _, rate, _, _, peer_us = words[:9]
        self.add(kind="product", what="Gemm", size=f"{m} x {n} x {k}", bytes=0, weft_us=float(us), peer="cuBLASLt",
                 peer_us=float(peer_us), ceiling=float(rate) / self.rate, plan=" ".join(words[13:]))

    def of_fused(self, parts):
        *name, m, n, k = parts[0].split()
        apart, own = parts[1].split(), parts[2].split()
        self.add(kind="fused", what=f"{self.fused} {' '.join(name)}", size=f"{m} x {n} x {k}", bytes=0,
                 weft_us=float(own[-1]), peer="cuBLASLt, NCCL in turn", peer_us=float(apart[-1]),
                 ceiling=float(parts[3].split()[1]), plan=parts[4])


def parse(path, link, rate):
    parser = Parser(link, rate)
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            parser.line(text)
        except (ValueError, IndexError) as error:
            sys.exit(f"{path}:{number}: not as the programs print it ({error}): {text}")
    return parser


COLUMNS = ("what", "size", "Weft us", "peer", "peer us", "PyTorch us", "ratio", "target", "verdict", "ceiling", "date", "GPU",
           "command", "plan")


def cells(row):
    facts = row.facts
    return (row.what, row.size, f"{row.weft_us:.2f}", row.peer if row.peer_us else "none",
            f"{row.peer_us:.2f}" if row.peer_us else "", f"{row.torch_us:.2f}" if row.torch_us else "",
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
    if "peer" in facts:
        text += [facts["peer"], ""]
    if parser.torch:
        return text + ["Its times are in the column of PyTorch.", ""]
    if not parser.rows:
        return text + ["No rows.", ""]
    keep = [i for i, name in enumerate(COLUMNS) if name not in ("date", "GPU", "command")]
    lines = [[cells(row)[i].replace("|", "/") for i in keep] for row in parser.rows]
    text += kernels_summary.grid([COLUMNS[i] for i in keep], lines)
    return text


def markdown(runs):
    verdicts = [row.verdict for run in runs for row in run.rows if row.verdict]
    text = ["# Operators of weft::kernels beside their peers", "",
            "ratio: the time of the fastest peer over Weft's. ceiling: the reached part of what the hardware takes.", "",
            "![Times](report.svg)", "", f"{verdicts.count('met')} of {len(verdicts)} targets met.", "",
            "In short, microseconds of a call, Weft's / the fastest peer's; behind fused operators their efficiency.",
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
    (given.out / "report.md").write_text(markdown(runs), encoding="utf-8")
    (given.out / "report.svg").write_text(kernels_plot.svg(rows), encoding="utf-8")
    print(markdown(runs))
    empty = [str(path) for path, run in zip(given.files, runs) if not run.rows and not run.torch]
    if empty:
        sys.exit(f"{', '.join(empty)}: has no row of weft-gpu-kernels, weft-gpu-gemm or weft-gpu-fused")


if __name__ == "__main__":
    main()
