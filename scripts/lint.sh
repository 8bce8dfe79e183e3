#!/bin/sh
# Text checks: layers, listed sources, the words of the glossary, links of pages, formatting, clang-tidy. Changes nothing.
#   scripts/lint.sh --fast leaves clang-tidy out.
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh build test lint
# A tree of its own in which nothing is built: where GCC has precompiled headers, clang-tidy stumbles over them.
# Without tests, which compile the operators' sources once more: clang-tidy would read those twice. Sources together,
# since to parse their headers is most of the work.
build=build/lint
cmake --preset cpu-release -DWEFT_TESTS=OFF -B "$build" > /dev/null

tests/lint/check_layers.py
tests/lint/check_layers_test.py
tests/lint/check_descriptors.py
tests/lint/check_listed.py
tests/lint/check_readme.py
tests/lint/check_terms.py
tests/lint/check_transports.py
tests/lint/check_docs.py
tests/lint/check_docs_test.py

echo "== clang-format"
git ls-files '*.hpp' '*.cpp' | xargs clang-format --dry-run -Werror

[ "${1:-}" = "--fast" ] && exit 0
echo "== clang-tidy"
tests/lint/list_units.py "$build" |
  xargs -P "$(nproc)" -n 1 clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option 2> build/clang-tidy.log ||
  { grep -v 'warnings generated' build/clang-tidy.log || true; exit 1; }
