#!/usr/bin/env python3
"""weft-info as a user calls it: what it prints, where, and its exit status."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

failures = 0


def run(*arguments, stdin="", **variables):
    env = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    env.update(variables)
    done = subprocess.run([sys.argv[1], *arguments], input=stdin, capture_output=True, text=True, env=env, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(holds, what, got):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED: {what}\n  got: {got}")


code, out, err = run()
expect(code == 0 and err == "", "the summary succeeds and complains about nothing", (code, err))
for title in ("build", "machine", "limits", "capabilities", "launchers", "transports", "reach"):
    expect(f"\n{title}\n" in out, f"the summary has the section {title}", out)

code, out, err = run("--json")
expect(code == 0, "--json succeeds", (code, err))
summary = json.loads(out)
expect(summary["capabilities"]["heap"]["available"] is True, "JSON says that a heap can be had", summary)
expect(isinstance(summary["machine"]["usable_threads"], int), "numbers are numbers", summary["machine"])

code, out, err = run("--version")
expect(code == 0 and out.startswith("Weft 0."), "--version", (code, out))

code, out, err = run("--options", "--json", WEFT_HEAP_SIZE="1g")
heap = [row for row in json.loads(out) if row["name"] == "WEFT_HEAP_SIZE"]
expect(heap and heap[0]["value"] == "1g" and heap[0]["set_in_environment"], "--options --json", heap)

code, out, err = run(WEFT_HEAP_SIZE="1q")
expect(code == 1 and "WEFT_HEAP_SIZE: '1q'" in err and "capabilities" in out, "a wrong option: said, and the rest shown",
       (code, err))

code, out, err = run(WEFT_HEAPSIZE="1g")
expect(code == 0 and "did you mean WEFT_HEAP_SIZE?" in err, "an unknown name is warned about", (code, err))

machine = os.path.join(os.path.dirname(__file__), "..", "topology", "machines", "dgx_h100.txt")
code, out, err = run("--topology")
expect(code == 0 and err == "" and "numa node" in out, "--topology draws this machine", (code, out, err))
code, out, err = run("--topology", "--machine", machine)
expect(code == 0 and "    gpu nvidia 0000:4b:00.0 -> mlx5_3 port 1 (same PCIe switch)\n" in out,
       "--topology draws a machine that was written down", (code, out, err))
code, out, err = run("--topology", "--machine", machine, "--svg")
expect(code == 0 and len(list(xml.etree.ElementTree.fromstring(out))) > 50, "the drawing is XML", (code, out, err))
code, out, err = run("--topology", "--machine", machine, "--json")
expect(code == 0 and json.loads(out)["gpus"][7]["nearest_port"] == "mlx5_7 port 1 (same PCIe switch)",
       "--topology --json", (code, out, err))
code, record, err = run("--topology", "--record", "--machine", machine)
code, again, err = run("--topology", "--record", "--machine", "/dev/stdin", stdin=record)
expect(code == 0 and record.startswith("node 0 ") and again == record, "a record reads back as it was", (again, err))
code, out, err = run("--topology", "--machine", "/nowhere")
expect(code == 1 and "/nowhere is empty or cannot be read" in err, "a machine that is not there is named", (code, err))

code, out, err = run("--doctor")
expect(code in (0, 1) and err == "" and "each of 1 PEs wrote to this one" in out, "--doctor examines this host", (code, out, err))
expect((code == 0) == (" (PE 0): well " in out) and ("\n  - " in out) == (code == 1), "its exit status is its verdict", (code, out))
expect("allocate_device gives memory of " in out, "--doctor says what allocate_device gives", (code, out, err))
code, out, err = run("--doctor", "--json")
expect(json.loads(out)[0]["checks"]["test_run"]["puts"]["available"] is True, "--doctor --json", (code, out, err))
code, out, err = run("--doctor", WEFT_TRANSPORTS="telepathy")
expect(code == 1 and "telepathy" in out and ": not well " in out, "a job that cannot start is said", (code, out, err))
code, out, err = run("--doctor", WEFT_HEAP_SIZE="1q")
expect(code == 1 and "WEFT_HEAP_SIZE: '1q'" in out, "a wrong option is said", (code, out, err))

for wrong in (["--doctor", "--topology"], ["--svg"], ["--machine", machine], ["--topology", "--svg", "--record"], ["--topology", "--options"], ["--bogus"], ["--markdown"], ["--options", "--markdown", "--json"], ["file"]):
    code, out, err = run(*wrong)
    expect(code == 2 and "--help" in err, f"{wrong} is refused with a hint", (code, out, err))

print(f"{failures} failures")
sys.exit(1 if failures else 0)
