#!/usr/bin/env python3
"""Prints how many tests were skipped, and which, with the reason that each gave.

    list_skipped.py FILE       FILE: what ctest --output-junit has written

A test of ctest counts as one; in a program that ran, each case that GoogleTest skipped. Exit status: 0, whatever was
skipped; 1 if FILE cannot be read.
"""
import re
import sys
import xml.etree.ElementTree

# GoogleTest ends a skipped case with the first form, and lists it with the second at the end of the program.
CASE = re.compile(r"^\[  SKIPPED \] ([^\s.]+\.[^\s,]+)(?:, where .*| \(\d+ ms\))?$")
REASON = re.compile(r"^\S+:\d+: Skipped$|^\S+\(\d+\): Skipped$")


def skipped_cases(output):
    """{case: reason} of a GoogleTest program's output."""
    found = {}
    reason = ""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        case = CASE.match(line)
        if line.startswith("[ RUN      ]"):
            reason = ""
        elif REASON.match(line) and number + 1 < len(lines):
            reason = lines[number + 1].strip()
        elif case and case[1] not in found:
            found[case[1]] = reason
    return found


def skipped(path):
    """[(name, reason)] in the order of the file."""
    found = []
    for test in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = test.get("name")
        output = test.findtext("system-out") or ""
        cases = skipped_cases(output)
        if cases:
            found += [(f"{name}: {case}", reason) for case, reason in cases.items()]
        elif test.find("skipped") is not None:
            said = [line.strip() for line in output.splitlines() if line.strip()]
            reason = said[-1] if said else test.find("skipped").get("message", "")
            found.append((name, reason.removeprefix("skipped: ")))
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        found = skipped(sys.argv[1])
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        sys.exit(f"list_skipped.py: {sys.argv[1]}: {error}")
    print(f"== {len(found)} skipped" + (":" if found else ""))
    for name, reason in found:
        print(f"   {name}" + (f": {reason}" if reason else ""))


if __name__ == "__main__":
    main()
