"""The plot of kernels_report.py by matplotlib: times of each collective along its sizes, and ratios of the rest."""
import math

WEFT, BASELINE = "#1f6fb2", "#d1622b"
COLUMNS = 2
NO_MATPLOTLIB = ("no report.svg: python3 has no matplotlib, which draws it; pip install matplotlib, or apt-get install "
                 "python3-matplotlib, then run kernels_report.py again on the files of this run")


def panels_of(rows):
    """The rows of each collective of each run."""
    panels = {}
    for row in rows:
        if row.bytes:
            panels.setdefault((id(row.facts), row.what), []).append(row)
    return [(what, of_panel) for (_, what), of_panel in panels.items()]


def draw_times(axes, what, rows):
    """Microseconds along bytes, both logarithmic."""
    beside = [row for row in rows if row.baseline_us > 0]
    axes.loglog([row.bytes for row in rows], [row.weft_us for row in rows], color=WEFT, label="Weft", base=2)
    if beside:
        axes.loglog([row.bytes for row in beside], [row.baseline_us for row in beside], color=BASELINE, linestyle="--",
                    label=beside[0].baseline, base=2)
    shown = [rows[0], rows[len(rows) // 2], rows[-1]]
    axes.set_xticks([row.bytes for row in shown], [row.size for row in shown])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(title=what, ylabel="us")
    axes.legend(frameon=False)


def draw_ratios(axes, rows):
    axes.barh([f"{row.what} {row.size}" for row in rows], [row.ratio for row in rows],
              color=[WEFT if row.ratio >= 1 else BASELINE for row in rows])
    for place, row in enumerate(rows):
        axes.text(row.ratio, place, f" {row.ratio:.2f}", va="center", fontsize=8)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_title("ratio: the fastest baseline's time over Weft's")


def draw(rows, path):
    """Writes the plot; without matplotlib it writes none, and returns why."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        return NO_MATPLOTLIB
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "weft", "font.size": 9})
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    panels = panels_of(rows)
    rest = [row for row in rows if not row.bytes and row.ratio]
    lines = math.ceil(len(panels) / COLUMNS)
    heights = ([2.6 * lines] if lines else []) + ([0.8 + 0.2 * len(rest)] if rest else [])
    figure = pyplot.figure(figsize=(9, sum(heights) or 1), layout="constrained")
    parts = list(figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]) if heights else []
    if lines:
        grid = parts.pop(0).subplots(lines, COLUMNS, squeeze=False).flatten()
        for axes, (what, of_panel) in zip(grid, panels):
            draw_times(axes, what, of_panel)
        for axes in grid[len(panels):]:
            axes.remove()
    if rest:
        draw_ratios(parts.pop(0).subplots(), rest)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return None
