#!/usr/bin/env python3
"""Draws speed.svg, the plot of the front page, from speed.csv. It needs matplotlib: docs/figures/speed.py"""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "weft", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
from matplotlib import pyplot  # noqa: E402

HERE = pathlib.Path(__file__).parent
WEFT, NCCL, PYTORCH = "#2962ff", "#8a8a8a", "#e07b39"


def rows_of(operator):
    lines = (line for line in (HERE / "speed.csv").open(encoding="utf-8") if not line.startswith("#"))
    return [row for row in csv.DictReader(lines) if row["operator"] == operator]


def all_reduce(axes):
    rows = rows_of("AllReduce")
    for name, label, color in (("weft", "Weft", WEFT), ("nccl", "NCCL", NCCL), ("pytorch", "PyTorch", PYTORCH)):
        points = [(float(row["case"]), float(row[name])) for row in rows if row[name]]
        axes.plot(*zip(*points), marker="o", markersize=3.5, color=color, label=label)
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="us", title="AllReduce, four H200: time (less is better)")
    axes.set_xticks([8, 2048, 1 << 16, 1 << 20, 1 << 24, 1 << 27], ["8", "2 Ki", "64 Ki", "1 Mi", "16 Mi", "128 Mi"])
    axes.minorticks_off()
    axes.legend(frameon=False)


def all_gather_gemm(axes):
    rows = rows_of("AllGather-GEMM")
    for i, (name, label, color) in enumerate((("weft", "Weft", WEFT), ("pytorch", "PyTorch", PYTORCH))):
        times = [float(row["nccl"]) / float(row[name]) for row in rows]
        axes.barh([n + 0.38 * i for n in range(len(rows))], times, 0.36, color=color, label=label)
    axes.axvline(1, color=NCCL, label="NCCL, then cuBLASLt")
    axes.set_yticks([n + 0.19 for n in range(len(rows))], [row["case"] for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="times as fast as NCCL, then cuBLASLt", title="AllGather-GEMM, four H200 (more is better)")
    axes.legend(frameon=False, loc="lower right", fontsize=8)


def main():
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), width_ratios=(1, 1.1), layout="constrained")
    all_reduce(left)
    all_gather_gemm(right)
    figure.savefig(HERE / "speed.svg", metadata={"Date": None})
    path = HERE / "speed.svg"
    path.write_text("\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
