#!/usr/bin/env python3
"""Fails when a page that weft-info makes from the library's tables is not what it would make now."""
import difflib
import pathlib
import subprocess
import sys

PAGES = {"docs/reference/options.md": ["--options", "--markdown"]}


def main():
    weft_info, root = sys.argv[1], pathlib.Path(__file__).parents[2]
    stale = 0
    for page, arguments in PAGES.items():
        made = subprocess.run([weft_info, *arguments], capture_output=True, text=True, check=True).stdout
        path = root / page
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        if made == kept:
            continue
        stale += 1
        sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), made.splitlines(True), page, "now", n=0))
        print(f"{page} is stale; run: {weft_info} {' '.join(arguments)} > {page}")
    print(f"{len(PAGES)} pages, {stale} stale")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
