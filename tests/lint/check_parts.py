#!/usr/bin/env python3
"""Fails unless the tests that weft_test() makes of a program's cases (PARTS) have each case exactly once.

    check_parts.py --ctest CTEST --build BUILD [--all-networks]

Asks the programs of BUILD for the cases of each test. With --all-networks, for a build that has every transport, each
pattern of a filter must also match a case that no pattern before it has: one that does not is out of date.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

FILTER = "--gtest_filter="


def cases(program, choice=None):
    """The names of the program's cases that the filter chooses."""
    command = [program, "--gtest_list_tests"] + ([FILTER + choice] if choice else [])
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    names = []
    suite = ""
    for line in listed.stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def matches(pattern, name):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), name) is not None


def tests_with_parts(ctest, build):
    """For each program: {test: filter}. Not what runs cases once more in other surroundings (label variant)."""
    shown = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    programs = collections.defaultdict(dict)
    for test in json.loads(shown.stdout)["tests"]:
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])
        command = test.get("command", [])
        if len(command) == 2 and command[1].startswith(FILTER) and "variant" not in labels:
            programs[command[0]][test["name"]] = command[1][len(FILTER):]
    return programs


def check(program, filters, every_pattern):
    """The problems with the tests of one program."""
    every_case = cases(program)
    chosen_by = collections.defaultdict(list)
    wrong = []
    for test, choice in filters.items():
        chosen = cases(program, choice)
        if every_pattern and not chosen:
            wrong.append(f"{test}: its filter matches no case")
        for case in chosen:
            chosen_by[case].append(test)
    for case in every_case:
        if len(chosen_by[case]) != 1:
            wrong.append(f"{case} belongs to {' and '.join(chosen_by[case]) or 'no test'}")
    if every_pattern:
        # The test that runs the rest names all patterns, in the order of the parts.
        rest = next((choice for choice in filters.values() if choice.startswith("-")), "-")
        left = every_case
        for pattern in rest[1:].split(":"):
            if not any(matches(pattern, case) for case in left):
                wrong.append(f"the pattern {pattern} matches no case that is left")
            left = [case for case in left if not matches(pattern, case)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ctest", default="ctest")
    parser.add_argument("--build", required=True)
    parser.add_argument("--all-networks", action="store_true")
    arguments = parser.parse_args()
    programs = tests_with_parts(arguments.ctest, arguments.build)
    wrong = 0
    for program, filters in programs.items():
        for problem in check(program, filters, arguments.all_networks):
            print(f"{pathlib.Path(program).name}: {problem}")
            wrong += 1
    print(f"{len(programs)} programs with parts, {sum(map(len, programs.values()))} tests; {wrong} problems")
    return 1 if wrong or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
