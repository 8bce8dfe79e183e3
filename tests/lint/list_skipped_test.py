#!/usr/bin/env python3
"""scripts/list_skipped.py counts and names what ctest skipped and what GoogleTest skipped, each once."""
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).parents[2] / "scripts" / "list_skipped.py"
GOOGLETEST = """[ RUN      ] Net.Works
[       OK ] Net.Works (0 ms)
[ RUN      ] Net.Far/ipv6
net_test.cpp:7: Skipped
no IPv6 here

[  SKIPPED ] Net.Far/ipv6 (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Net.Far/ipv6
"""
RESULTS = f"""<testsuite>
<testcase name="net_test" status="run"><system-out>{GOOGLETEST}</system-out></testcase>
<testcase name="on_gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: no driver
</system-out></testcase>
<testcase name="silent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out></system-out></testcase>
<testcase name="unit" status="run"><system-out>[ RUN      ] Unit.Works
[       OK ] Unit.Works (0 ms)
</system-out></testcase>
</testsuite>
"""


def list_skipped(text):
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text)
        file.flush()
        return subprocess.run([sys.executable, PROGRAM, file.name], capture_output=True, text=True)


shown = list_skipped(RESULTS)
assert shown.returncode == 0, shown
assert shown.stdout == """== 3 skipped:
   net_test: Net.Far/ipv6: no IPv6 here
   on_gpu: no driver
   silent: SKIP_RETURN_CODE=77
""", shown.stdout
assert list_skipped("<testsuite></testsuite>").stdout == "== 0 skipped\n"
assert list_skipped("no XML").returncode == 1
