#!/usr/bin/env python3
"""Runs a command where there is a GPU of NVIDIA's; elsewhere the test is skipped."""
import pathlib
import subprocess
import sys

SKIPPED = 77

if not list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
    print("skipped: there is no GPU")
    sys.exit(SKIPPED)
sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
