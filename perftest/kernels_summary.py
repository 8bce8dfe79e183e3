"""The rows of kernels_report.py in a few tables that fit on a page: Weft's time, and that of the fastest baseline."""
import math

SIZES = ("8 B", "2 KiB", "32 KiB", "128 KiB", "512 KiB", "2 MiB", "8 MiB", "32 MiB", "128 MiB")


def us(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def cell(row):
    """Weft / the fastest baseline."""
    if row is None:
        return ""
    return f"{us(row.weft_us)} / {us(row.fastest_us)}" if row.ratio else us(row.weft_us)


def grid(head, lines):
    """In Markdown."""
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)]


def table(head, lines):
    """Nothing where no line has anything to say."""
    lines = [line for line in lines if any(line[1:])]
    return ["", *grid(head, lines)] if lines else []


def collectives(rows):
    found = {(row.what, row.size): row for row in rows if row.kind == "collective"}
    names = list(dict.fromkeys(what for what, _ in found))
    return table(["bytes", *names], [[size, *(cell(found.get((name, size))) for name in names)] for size in SIZES])


def products(rows):
    ratios = [row.ratio for row in rows if row.kind == "product" and row.ratio]
    if not ratios:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return ["", f"Gemm beside cuBLASLt's fastest algorithm: {len(ratios)} shapes, ratios {min(ratios):.2f} to {max(ratios):.2f}, "
            f"geometric mean {mean:.3f}."]


def layers(rows):
    """The table of fused operators, a line for each layer; each cell has the efficiency, too."""
    lines = {}
    for row in rows:
        if row.kind == "fused":
            name, *layer = row.what.split()
            lines.setdefault((" ".join(layer), row.size), {})[name] = row
    names = list(dict.fromkeys(row.what.split()[0] for row in rows if row.kind == "fused"))

    def with_efficiency(row):
        return f"{cell(row)} ({row.ceiling:.2f})" if row else ""

    return table(["layer", "M x N x K", *names],
                 [[layer, size, *(with_efficiency(of.get(name)) for name in names)]
                  for (layer, size), of in lines.items()])


def summary(rows):
    return [*collectives(rows), *products(rows), *layers(rows)]
