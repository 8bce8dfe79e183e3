#!/usr/bin/env python3
"""Fails when a program on the front page is not the one that is built and run (docs/tutorials).

--write puts it there.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"(<!-- (\S+) -->\n```(?:cpp|python)\n)(.*?)(```\n)", re.DOTALL)


def main():
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    wanted = BLOCK.sub(lambda m: m[1] + (ROOT / m[2]).read_text(encoding="utf-8") + m[4], text)
    if "--write" in sys.argv:
        readme.write_text(wanted, encoding="utf-8")
        return 0
    if not BLOCK.search(text) or text != wanted:
        print("README.md: a program differs from the tutorial's; run tests/lint/check_readme.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
