#!/usr/bin/env python3
"""Refuses words of our own where the field has one (docs/reference/glossary.md), and comments that begin with a relative
pronoun instead of a subject.

TERMS has for each what it is called instead, where that counts, and two samples: one that is refused, one that is not.
They are checked first, at each run.
"""
import functools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = (".hpp", ".cpp", ".h", ".c", ".cu", ".py")
TEXT = (*CODE, ".md", ".sh", ".cmake", ".txt")
SKIPPED = ("CHANGELOG.md", "docs/release-notes/", "docs/measurements/", "docs/reference/glossary.md", "tests/lint/check_terms.py", "tests/mutation/noticed.txt")

# (words of our own, the field's, "anywhere" or "identifiers", a line that is refused, a line that is not). Identifiers: in
# code outside of strings and comments, since some are ordinary English. " in FOLDER, FOLDER": elsewhere the word is right.
TERMS = [
    (r"twins?(_\w+)?|Twins?", "peer blocks, peer slots; baseline", "anywhere", "int twins = 2;", "int between = 2;"),
    (r"k?[Mm]overs?", "communication warps, epilogue warps", "anywhere", "kMovers = 3;", "// removers"),
    (r"\w*Sink|sinks?|sink_\w*", "epilogue", "anywhere in kernels", "struct StoreSink {", "// sinking"),
    (r"Gate|gate_\w+|is_gated", "prologue wait", "identifiers in kernels", "Gate gate;", "// the gate of a transistor"),
    (r"\w*BandedOrder|\w*SplitOrder|\w*ScatterOrder|tile_order", "tile scheduler", "anywhere", "BandedOrder<true> o;", "in order"),
    (r"band|bands|band_of|kBands", "raster group", "identifiers in kernels", "int band = 1;", "// bandwidth, band"),
    (r"kSliceK?|slice_\w+|slices", "k-block", "identifiers in kernels", "int slices = 2;", "// slices"),
    (r"goes_round", "ring", "anywhere", "bool goes_round;", "it goes round"),
    (r"Gathering|gathering_?", "all-gather buffer", "identifiers", "Gathering g;", "// gathering rows"),
    (r"k(TwoShot)?Packets|Packet|kPacketBytes|send_packet|take_packets|Packet(Call|Channel)", "LL", "identifiers",
     "Algorithm::kPackets", "// a packet of the network"),
    (r"kTwoShotWords|WordChannel|WordPair|kNoWord|take_words|send_words?", "Lamport", "identifiers", "WordPair p;", "int words;"),
    (r"kScatteredBulk|Bulk(Call|Channel|Header)", "Simple", "identifiers", "BulkChannel c;", "Bulk<Warp> copies;"),
    (r"broken(_\w+)?", "failed, failed_round", "identifiers in kernels", "record->broken = round;", "// a broken link"),
    (r"tell(_\w+)?|told|hear|(has|have)_come|kHasCome|meet|met|kMeets\w+|greet\w*|patience", "signal, wait, sync; deadline",
     "identifiers in kernels", "channel.meet()", "// blocks meet"),
    (r"look(ed)?|look_at_\w+", "read, poll", "identifiers in kernels", "look_at_record(p);", "// they look at it"),
    (r"places?_?|(my_)?place(_\w+)?|Places?|\w+Place|PlaceOf", "slot, offset, address, step", "identifiers in kernels",
     "Places* places;", "// takes its place"),
    (r"\w*Laps?|laps?_?|without_laps", "pass, phase", "identifiers in kernels, tests/kernels", "bool kLaps;", "int overlap = 0;"),
    (r"turns?|count_of_turn", "iteration, wave", "identifiers in kernels, tests/kernels", "++*turn;", "return 0;  // in turn"),
    (r"pass_on", "forward", "identifiers in kernels", "pass_on(lane);", "// pass on"),
    (r"packets|packs|bulk", "LL, Simple", "identifiers in kernels", "space.packets", "dev::LLPacket* ll_packets;"),
    (r"kWordBytes|kStagingBytes", "kLamportBytes, kSimpleBytes", "identifiers in kernels", "kWordBytes / 2", "kSimpleBytes / 2"),
    (r"\w*[dD]irect[A-Z]\w*|Direct|(in)?direct_\w+|\w+_direct|goes_directly", "one kernel", "identifiers in kernels, tests/kernels",
     "DirectPlan plan;", "OneKernelPlan plan;  // directly"),
    (r"Way|way(_of|_)?|kTwoShots", "reduction (one shot, two shots, scatter)", "identifiers in kernels",
     "Way way;", "// by way of"),
    (r"\w*[pP]roducts?(_\w+)?", "GEMM", "identifiers in kernels", "gemm::Plan product;", "gemm::Plan gemm;  // the product"),
    (r"(Host|Gpu|Sm90)?Overlap|make_\w+_overlap", "OverlappedTarget", "identifiers in kernels", "class Overlap {",
     "class Overlapped {"),
    (r"\w*[fF]loor", "bound", "identifiers in kernels, tests/kernels", "double floor = 0;", "// the floor of a room"),
    (r"Crew|crew", "thread pool", "anywhere", "class Crew {", "// a screw"),
    (r"Letters?|letters?", "message batch", "identifiers in host/transport", "Letter letter;", "// a letter of the alphabet"),
    (r"DueAnswers|due_answers", "pending replies", "anywhere", "DueAnswers due;", "answers that are due"),
    (r"Flights?|flights?_", "in-flight request", "identifiers", "Flight flight;", "requests in flight"),
    (r"k?Panes?|panes?|\w+_pane", "staging slot", "identifiers in host", "int pane = 0;", "// a pane of glass"),
    (r"Doors?|doors?|doors_", "service endpoint; GPU-initiated queue pair", "identifiers", "Door door;", "doorbell"),
    (r"ring_bell|hears_bell", "ring_doorbell", "anywhere", "ring_bell(queue);", "ring_doorbell(queue);"),
    (r"Estate|estate|bury", "deferred reclamation", "anywhere", "Estate::of(job)", "restated"),
    (r"Aim|aim", "resolved call", "identifiers", "Aim aim(ctx);", "// we aim at claims"),
    (r"Picture|picture|Pictured", "device module state", "identifiers", "Picture picture;", "// a picture of it"),
    (r"Meeting|meeting_?|TeamMeeting|meeting point", "rendezvous", "anywhere", "class Meeting {", "a rendezvous"),
    (r"Greeting|greeting|greeted_with", "handshake", "anywhere", "Greeting g;", "a handshake"),
    (r"give_up", "time out", "identifiers", "give_up(h);", "// threads give up"),
    (r"rounded_up", "align_up", "anywhere", "rounded_up(n, 8)", "is rounded up"),
    (r"shares\(", "ceil_div", "identifiers", "shares(n, 8)", "a block shares (its) work"),
    (r"Dial|k?Dials?(_\w+)?|dial(_\w+)?|tie(_\w+)?|tied|take_dial", "ConnectMessage, connect", "identifiers in host/transport", "Dial dial;",
     "int radial = 0;  // dialled"),
    (r"who|whose|Who", "its name: pe, peer, owner, source", "identifiers in host, src, bootstrap", "const std::string who = name(pe);",
     "// PEs who wait"),
    (r"places?_?|kPlaces?|(make|post)_places?", "buffer, receive, slot", "identifiers in host/transport/ib, host/transport/ofi",
     "post_place(place);", "list.emplace_back();  // takes its place"),
    (r"\*\*(Of|Whose|Who|Whoever|What) \w+", "by its subject", "anywhere in docs/design", "**What was tried.** Not this.",
     "**Tried, and lost.** What was it?"),
    (r"multiprocessors?", "SMs, num_sms", "anywhere", "int multiprocessors;", "int num_sms;"),
]
# Comments that begin so are refused.
OPENING = re.compile(r"(?://|#|/\*+|\*|\"\"\")\s*(Of|Who|Whose|What|Whoever)\s")
OPENING_SAMPLES = ("// Of the operator all PEs", "  # What is sent", "// All PEs have, of this"), (True, True, False)


def code_only(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.split(r"//|(?<!\S)#(?!\w)", line)[0]


@functools.cache
def pattern(words):
    return re.compile(rf"(?<!\w)(?:{words})" + ("" if words.endswith("\\(") else r"(?!\w)"))


def found(row, line):
    match = pattern(row[0]).search(line)  # most lines have none, whatever part of them counts
    return pattern(row[0]).search(code_only(line)) if match and row[2].startswith("identifiers") else match


def check_samples():
    wrong = [f"{row[0]}: '{row[3]}' is not refused" for row in TERMS if not found(row, row[3])]
    wrong += [f"{row[0]}: '{row[4]}' is refused" for row in TERMS if found(row, row[4])]
    wrong += [f"opening '{line}'" for line, bad in zip(*OPENING_SAMPLES) if bool(OPENING.match(line.strip())) != bad]
    return wrong


def is_for(row, name):
    kind, _, folder = row[2].partition(" in ")
    return name.startswith(tuple(folder.split(", "))) and (kind == "anywhere" or name.endswith(CODE))


def check_file(name):
    is_code = name.endswith(CODE)
    terms = [row for row in TERMS if is_for(row, name)]
    previous = ""
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        for row in terms:
            match = found(row, line)
            if match:
                yield f"{name}:{number}: '{match[0]}' is called {row[1]}"
        opening = OPENING.match(line.strip())
        if is_code and opening and not re.match(r"\s*(//|#|\*)", previous):
            yield f"{name}:{number}: a comment begins with '{opening[1]}', and not with a subject"
        previous = line


def main():
    errors = check_samples()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.splitlines() if name.endswith(TEXT) and not name.startswith(SKIPPED)]
    for name in names:
        if (ROOT / name).exists():
            errors += check_file(name)
    print(*errors, sep="\n")
    print(f"{len(names)} files, {len(TERMS)} terms, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
