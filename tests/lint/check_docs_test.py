#!/usr/bin/env python3
"""Proves that check_docs.py fails on what it must fail on: a small tree per fault, of pages and of built pages."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_docs.py")

GOOD = {
    "README.md": "# A\n[b](docs/b.md) [c](docs/c.md#two-words) [web](https://example.com/none) `[x](no.md)`\n",
    "docs/b.md": "# B\n[here](#b)\n```sh\n[no](link.md)\n# B\n```\n",
    "docs/c.md": "# C\n## `Two` words\n",
    "src/d.hpp": "// docs/b.md says why, and docs/measurements/YYYY-MM-DD-topic.md what.\n",
}
BAD = {
    "two pages of one title": {"docs/x.md": "# B\n"},
    "a link to no file": {"docs/x.md": "# X\n[y](y.md)\n"},
    "a link to no heading": {"docs/x.md": "# X\n[c](c.md#three-words)\n"},
    "a link to no heading of its own": {"docs/x.md": "# X\n[y](#y)\n"},
    "an image that is not there": {"docs/x.md": "# X\n![y](y.svg)\n"},
    "a comment that names no page": {"src/x.hpp": "// see docs/gone.md\n"},
    "a script that names no page": {"scripts/x.sh": "echo docs/gone.md\n"},
}

GOOD_HTML = {
    "index.html": '<title>A</title><h1 id="top">A</h1><a href="b/c.html#two">c</a><a href="#top">top</a><a href="https://x">x</a>',
    "b/c.html": '<title>C</title><svg><title>A</title></svg><h2 id="two">2</h2><a href="../index.html">a</a>',
}
BAD_HTML = {
    "two built pages of one title": {"x.html": "<title>A</title>"},
    "a built link to no file": {"x.html": '<title>X</title><a href="y.html">y</a>'},
    "a built link to no anchor": {"x.html": '<title>X</title><a href="b/c.html#three">c</a>'},
    "a built image that is not there": {"x.html": '<title>X</title><img src="y.svg">'},
}


def run(files, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, CHECK, *arguments, folder], capture_output=True, text=True)


def main():
    failures = 0
    for good, bad, arguments in ((GOOD, BAD, ()), (GOOD_HTML, BAD_HTML, ("--html",))):
        result = run(good, *arguments)
        if result.returncode != 0:
            print("clean pages were refused:", result.stdout, result.stderr)
            failures += 1
        for what, files in bad.items():
            result = run({**good, **files}, *arguments)
            if result.returncode != 1 or "1 errors" not in result.stdout:
                print("not noticed:", what, result.stdout, result.stderr)
                failures += 1
    print(f"{2 + len(BAD) + len(BAD_HTML) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
