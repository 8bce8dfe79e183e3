"""A directive for Sphinx that draws what passes between PEs, from top to bottom:

    ```{sequence}
    PE 0 | PE 1                 lifelines, from left to right
    0 -> 1: put a               an arrow from the first to the second
    0 -> 1 +2: put b            the same, two steps under way
    1: wait_until(flag)         a note on a lifeline
    .                           a step in which nothing begins
    ```

The figure is SVG in the page, in the colour of its text.
"""
import html
import re

from docutils import nodes
from docutils.parsers.rst import Directive

STEP, TOP, CHARACTER, LEAST = 30, 44, 6.6, 150  # LEAST: between two lifelines
ARROW = re.compile(r"(\d+) -> (\d+)(?: \+(\d+))?: (.+)")
NOTE = re.compile(r"(\d+): (.+)")


def text(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle"{more}>{html.escape(words)}</text>'


def box(x, y, words):
    width = len(words) * CHARACTER + 14
    return (f'<rect x="{x - width / 2:g}" y="{y - 12:g}" width="{width:g}" height="22" rx="4" class="note"/>' +
            text(x, y + 3, words))


def arrow(x0, y0, x1, y1, words):
    sign = 1 if x1 > x0 else -1
    head = f"{x1:g},{y1:g} {x1 - 9 * sign:g},{y1 - 5:g} {x1 - 9 * sign:g},{y1 + 4:g}"
    return (f'<line x1="{x0:g}" y1="{y0:g}" x2="{x1:g}" y2="{y1:g}" class="arrow"/><polygon points="{head}" class="head"/>' +
            text(x0 + (x1 - x0) * 0.5, y0 + (y1 - y0) * 0.5 - 7, words))


def distance(lines):
    """Between two lifelines there is room for the longest text of a note or an arrow."""
    texts = [match[match.lastindex] for line in lines if (match := ARROW.fullmatch(line) or NOTE.fullmatch(line))]
    return max([LEAST, *(len(words) * CHARACTER + 28 for words in texts)])


def draw(lines):
    """The SVG of lines as above; ValueError says what is wrong."""
    names = [name.strip() for name in lines[0].split("|")]
    apart = distance([line.strip() for line in lines[1:]])
    at = [apart * (i + 0.5) for i in range(len(names))]
    made, last = [], 0
    for step, line in enumerate(lines[1:]):
        y = TOP + STEP * (step + 0.5)
        if match := ARROW.fullmatch(line.strip()):
            source, target, steps = int(match[1]), int(match[2]), int(match[3] or 0)
            end = y + STEP * steps + 8
            made.append(arrow(at[source], y, at[target], end, match[4]))
        elif match := NOTE.fullmatch(line.strip()):
            end = y
            made.append(box(at[int(match[1])], y, match[2]))
        elif line.strip() == ".":
            continue
        else:
            raise ValueError(f"'{line}' is neither 'A -> B: text', 'A: text' nor '.'")
        last = max(last, end)
    height, width = last + 24, apart * len(names)
    lifelines = "".join(f'<line x1="{x:g}" y1="{TOP - 14}" x2="{x:g}" y2="{height:g}" class="lifeline"/>' +
                        text(x, TOP - 24, name, ' class="name"') for x, name in zip(at, names))
    return (f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" class="sequence">'
            f"<title>{html.escape('; '.join(line.strip() for line in lines[1:] if line.strip() != '.'))}</title>{lifelines}{''.join(made)}</svg>")


class Sequence(Directive):
    has_content = True

    def run(self):
        try:
            return [nodes.raw("", f'<div class="figure">{draw(list(self.content))}</div>', format="html")]
        except (ValueError, IndexError) as error:
            return [self.state.document.reporter.error(f"sequence: {error}", line=self.lineno)]


def setup(app):
    app.add_directive("sequence", Sequence)
    return {"parallel_read_safe": True}
