"""The plot of kernels_report.py as SVG, by hand: times of each collective along its sizes, and ratios of the rest."""
import math
from html import escape

WIDTH, HEIGHT, MARGIN, BAR = 360, 240, 44, 16
WEFT, PEER, GRID, INK = "#1f6fb2", "#d1622b", "#dddddd", "#333333"


def text(x, y, words, anchor="start", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'


def line(x1, y1, x2, y2, color=GRID):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def path(points, color, dashes=""):
    steps = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f},{y:.1f}" for i, (x, y) in enumerate(points))
    return f'<path d="{steps}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}"/>'


class Axis:
    """Logarithmic, from the least value to the largest."""

    def __init__(self, values, begin, end):
        self.low, self.high = math.log2(min(values)), math.log2(max(values))
        self.begin, self.end = begin, end

    def at(self, value):
        part = (math.log2(value) - self.low) / ((self.high - self.low) or 1)
        return self.begin + part * (self.end - self.begin)


def panel(left, top, title, rows):
    """Microseconds along bytes, both logarithmic."""
    times = [us for row in rows for us in (row.weft_us, row.peer_us) if us > 0]
    x = Axis([row.bytes for row in rows], left + MARGIN, left + WIDTH - 12)
    y = Axis(times, top + HEIGHT - 30, top + 28)
    made = [text(left + MARGIN, top + 16, title, size=13)]
    for power in range(math.ceil(y.low), math.floor(y.high) + 1, 2):
        at = y.at(2.0 ** power)
        made += [line(x.begin, at, x.end, at), text(x.begin - 5, at + 4, f"{2.0 ** power:g} us", "end")]
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        made.append(text(x.at(row.bytes), top + HEIGHT - 12, row.size, "middle"))
    peers = [row for row in rows if row.peer_us > 0]
    if peers:
        made.append(path([(x.at(row.bytes), y.at(row.peer_us)) for row in peers], PEER, "5 3"))
    made.append(path([(x.at(row.bytes), y.at(row.weft_us)) for row in rows], WEFT))
    return made


def bars(top, rows):
    """A ratio each; the stroke is 1."""
    left, scale = 330, 140
    made = [text(8, top + 16, "ratio: the peer's time over Weft's", size=13)]
    for i, row in enumerate(rows):
        y = top + 28 + i * BAR
        color = WEFT if row.ratio >= 1 else PEER
        made += [text(left - 6, y + 11, f"{row.what} {row.size}", "end"),
                 f'<rect x="{left}" y="{y}" width="{row.ratio * scale:.1f}" height="{BAR - 4}" fill="{color}"/>',
                 text(left + row.ratio * scale + 4, y + 11, f"{row.ratio:.2f}")]
    made.append(line(left + scale, top + 24, left + scale, top + 28 + len(rows) * BAR, INK))
    return made


def svg(rows):
    panels = {}
    for row in rows:
        if row.bytes:
            panels.setdefault((id(row.facts), row.what), []).append(row)
    made, bottom = [text(8, 18, "Weft: blue; the peer: orange, dashed")], 28
    for i, ((_, what), of_panel) in enumerate(panels.items()):
        made += panel(i % 2 * WIDTH, 28 + i // 2 * HEIGHT, what, of_panel)
        bottom = 28 + (i // 2 + 1) * HEIGHT
    rest = [row for row in rows if not row.bytes and row.ratio]
    if rest:
        made += bars(bottom, rest)
        bottom += 40 + len(rest) * BAR
    size = f'width="{2 * WIDTH}" height="{bottom}" viewBox="0 0 {2 * WIDTH} {bottom}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(made) + "\n</svg>\n")
