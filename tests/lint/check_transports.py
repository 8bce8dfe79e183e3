#!/usr/bin/env python3
"""Fails where host/ asks for a transport by its name instead of by what it can do (Caps, TransportRow). Names belong to the
registry, host/transport/transports.def.hpp, by which the options that list them are read, and to the transport's own folder."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REGISTRY = "host/transport/transports.def.hpp"
NAMES = re.findall(r"^WEFT_TRANSPORT\((\w+)", (ROOT / REGISTRY).read_text(), re.MULTILINE)
QUOTED = f'"(?:{"|".join(NAMES)})"'
COMPARED = re.compile(rf'name\(\)\s*(?:[=!]=|\.(?:find|compare|starts_with|ends_with|contains)\b)|[=!]=\s*{QUOTED}|'
                      rf'{QUOTED}\s*[=!]=|(?:find\w*|contains|starts_with)\({QUOTED}')
# In messages; "null" and "staged" are words of other things too.
MENTIONED = re.compile(rf'"[^"\n]*\b(?:{"|".join(set(NAMES) - {"null", "staged"})})\b[^"\n]*"')
# A port of a NIC, by its own name.
EXCEPTIONS = {"host/transport/ib/rails.cpp": "other.name() == port->name()"}
SAMPLES = [
    ("host/context/x.cpp", 'if (transport.name() == "p2p") return;', True),
    ("host/info/x.cpp", "transport->name().find(row.name)", True),
    ("host/topology/x.cpp", 'if (offer.name != "ib") continue;', True),
    ("host/transport/ib/x.cpp", 'return "its memory is mapped, which p2p does";', True),
    ("host/transport/ib/x.cpp", 'LOG(kInfo, "transport", "ib: {}", text);', False),
    ("host/transport/x.cpp", "if (transport.caps().maps) continue;  // p2p", False),
    ("host/runtime/x.cpp", 'return check_same("free", "null");', False),
]


def faults_of(name, text):
    text = re.sub(r"//[^\n]*|#include[^\n]*", "", text).replace(EXCEPTIONS.get(name, "//"), "")
    own = re.match(r"host/transport/(\w+)/", name)
    for match in COMPARED.finditer(text):
        yield f"compares transports by name: {match[0]}"
    for match in MENTIONED.finditer(text) if name.startswith("host/transport/") else ():
        if not (own and re.search(rf"\b{own[1]}\b", match[0])):
            yield f"names another transport: {match[0]}"


def main():
    wrong = [f"sample '{line}'" for name, line, bad in SAMPLES if bool(list(faults_of(name, line))) != bad]
    if len(NAMES) < 2:
        wrong.append(f"{REGISTRY}: no rows found")
    for path in sorted((ROOT / "host").rglob("*.[ch]pp")):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if name not in (REGISTRY, "host/transport/transport.cpp"):
            wrong += [f"{name}: {what}" for what in faults_of(name, text)]
    print(*wrong, sep="\n")
    print(f"{len(NAMES)} transports, {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
