#!/usr/bin/env python3
"""The table of gpu_report.sh from the lines that it collected.

  perftest/peers/gpu_table.py LINES
  perftest/peers/gpu_table.py --csv FILE     weft-perf's output as such lines

A line is who, row, shape, bytes, value and unit, with tabs between; each who has one for every turn.
Lines that begin with # are printed as they are. Values are medians of the turns; shares of the floor
and ratios are medians turn by turn, as speeds: above 1 Weft is ahead.
"""

import csv
import statistics
import sys
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
PEER = "nvshmem"  # has columns; what others have stands at the end of its line
OTHERS = {"nccl": "NCCL"}


class AtLeast:
    """At least this share of the floor's speed, or this multiple of a peer's."""

    def __init__(self, than, times, text):
        self.than, self.times, self.text = than, times, text

    def holds(self, row):
        ratio = row.times_faster_than(self.than)
        return None if ratio is None else ratio >= self.times


class AtMost:
    """At most this many microseconds."""

    def __init__(self, value):
        self.value, self.text = value, f"<= {value} us"

    def holds(self, row):
        return row.median("weft") <= self.value


class AtMostBeyondFloor:
    """At most so much more than the floor."""

    def __init__(self, value, unit):
        self.value, self.text = value, f"< floor + {value} {unit}"

    def holds(self, row):
        if not row.values["floor"]:
            return None
        return row.median("weft") - row.median("floor") < self.value


def of_floor(share):
    return AtLeast("floor", share, f">= {share:.0%} of floor")


def of_nvshmem(times):
    return AtLeast("nvshmem", times, f">= {times} x NVSHMEM")


SHARE = [of_floor(0.98)]
CLOSE = [AtLeast("floor", 1 / 1.05, "<= 1.05 x floor")]
TARGETS = {
    ("put", "1 x 1024", 4 * MIB): SHARE,
    ("put", "8 x 1024", 32 * MIB): SHARE,
    ("put", "32 x 1024", 32 * MIB): SHARE,
    ("put", "132 x 1024", 32 * MIB): SHARE,
    ("get", "1 x 1024", 4 * MIB): SHARE,
    ("get", "8 x 1024", 32 * MIB): SHARE,
    ("get", "32 x 1024", 32 * MIB): SHARE,
    ("put", "8 x 1024", 64 * KIB): [of_nvshmem(1.3)],
    ("put+quiet", "thread", 1 * KIB): [of_nvshmem(2)],
    ("put+quiet", "warp", 16 * KIB): [of_nvshmem(2)],
    ("signal", "thread", 0): [AtMost(1.6)],
    ("put_signal", "1 x 1024", 16): CLOSE,
    ("put_signal", "1 x 1024", 512): CLOSE,
    ("put_signal", "1 x 1024", 4 * KIB): CLOSE,
    ("fetch_add", "thread", 0): [AtMost(0.9)],
    ("barrier", "1 x 32", 0): [AtMost(1.9)],
    ("barrier", "1 x 1024", 0): [AtMost(1.9)],
    ("sync", "1 x 32", 0): [AtMost(1.75)],
    ("sync", "1 x 1024", 0): [AtMost(1.75)],
    ("start-up", None, 0): [AtMostBeyondFloor(1, "s"), AtLeast("nvshmem", 1, "< NVSHMEM")],
}


class Row:
    def __init__(self, name, shape, size, unit):
        self.name, self.shape, self.size, self.unit = name, shape, size, unit
        self.values = {who: [] for who in ("weft", "floor", PEER, *OTHERS)}

    def median(self, who):
        return statistics.median(self.values[who])

    def times_faster_than(self, other):
        turns = list(zip(self.values["weft"], self.values[other]))
        if not turns:
            return None
        if self.unit.endswith("/s"):
            return statistics.median(ours / theirs for ours, theirs in turns)
        return statistics.median(theirs / ours for ours, theirs in turns)

    def targets(self):
        shape = None if self.name == "start-up" else self.shape
        return TARGETS.get((self.name, shape, self.size), [])


def parse(text):
    """The rows in the order of their first lines, and the remarks."""
    rows, remarks = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            remarks.append(line[1:].strip())
            continue
        try:
            who, name, shape, size, value, unit = line.split("\t")
            row = rows.setdefault((name, shape, size), Row(name, shape, int(size), unit))
            row.values[who].append(float(value))
        except (ValueError, KeyError):
            sys.exit(f"gpu_table.py: line {number} is no who, row, shape, bytes, value and unit: {line!r}")
    return list(rows.values()), remarks


NAMES = {"put_quiet": "put+quiet", "start": "start-up", "start_floor": "start-up"}


def value_of(row, column):
    """Bandwidth where weft-perf has one, else the time of one operation."""
    nanoseconds = float(row[column])
    if row["kind"] == "bandwidth":
        return f"{float(row['bytes']) / nanoseconds:.6g}\tGB/s"
    return f"{nanoseconds / 1e9:.4f}\ts" if "start" in row["test"] else f"{nanoseconds / 1e3:.6g}\tus"


def lines_of(text):
    """The lines of what weft-perf printed; each PE may have printed the head of its own."""
    lines = text.splitlines()
    for row in csv.DictReader(line for i, line in enumerate(lines) if i == 0 or line != lines[0]):
        if row["error"]:
            sys.exit(f"gpu_table.py: {row['test']}: {row['error']}")
        name = row["test"].removeprefix("gpu_").rpartition("_")[0]
        what = f"{NAMES.get(name, name)}\t{row['shape']}\t{row['bytes'] or 0}"
        yield f"{'floor' if name == 'start_floor' else 'weft'}\t{what}\t{value_of(row, 'p50_ns')}"
        if row["baseline_p50_ns"]:
            yield f"{row['baseline']}\t{what}\t{value_of(row, 'baseline_p50_ns')}"


def size_text(size):
    for unit, name in ((MIB, "m"), (KIB, "k")):
        if size and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size) if size else "-"


def number(value, width, digits=3):
    return f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}"


def verdict(row, target):
    holds = target.holds(row)
    return f"{target.text}: " + ("not measured" if holds is None else "yes" if holds else "NO")


def columns(row, who, digits):
    """The median of a library, and how many times faster than it Weft is."""
    value = row.median(who) if row.values[who] else None
    return f"{number(value, 10)} {number(row.times_faster_than(who), 6, digits)}"


def print_table(rows):
    with_peer = any(row.values[PEER] for row in rows)
    head = f" {'NVSHMEM':>10} {'ratio':>6}" if with_peer else ""
    print(f"{'row':<10} {'shape':<11} {'bytes':>5} {'unit':<4} {'Weft':>10} {'floor':>10} {'share':>6}"
          f"{head}  target: holds")
    for row in rows:
        if not row.values["weft"]:
            continue
        line = (f"{row.name:<10} {row.shape:<11} {size_text(row.size):>5} {row.unit:<4} "
                f"{number(row.median('weft'), 10)} {columns(row, 'floor', 3)}")
        if with_peer:
            line += " " + columns(row, PEER, 2)
        ends = [verdict(row, target) for target in row.targets()]
        ends += [f"{name}: {row.median(who):.3f}" for who, name in OTHERS.items() if row.values[who]]
        print(f"{line}  {'; '.join(ends)}".rstrip())


def print_summary(rows):
    judged = [(row, target, target.holds(row)) for row in rows if row.values["weft"]
              for target in row.targets()]
    missed = [(row, target) for row, target, holds in judged if holds is False]
    unknown = sum(holds is None for _, _, holds in judged)
    print(f"\n{len(judged) - len(missed) - unknown} of {len(judged)} targets hold; "
          f"not measured: {unknown}; missed: {len(missed)}")
    for row, target in missed:
        print(f"  {row.name}, {row.shape}, {size_text(row.size)}: {target.text}")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--csv":
        for line in lines_of(Path(sys.argv[2]).read_text(encoding="utf-8")):
            print(line)
        return
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    rows, remarks = parse(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if not any(row.values["weft"] for row in rows):
        sys.exit(f"gpu_table.py: {sys.argv[1]} has no line of Weft")
    print("\n".join(remarks))
    print_table(rows)
    print_summary(rows)


if __name__ == "__main__":
    main()
