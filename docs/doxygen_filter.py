#!/usr/bin/env python3
"""Shows Doxygen the plain comments of a public header as documentation.

The headers are written to be read as they are, without markup. A comment that stands alone
documents what follows it, one behind a declaration documents that declaration, and the one at the
top documents the file. Rulers ("// --- put and get ---") and licence-like asides are left out.
"""
import re
import sys

ALONE = re.compile(r"^(\s*)//(?!/) ?(.*)$")
BEHIND = re.compile(r"^(.*[;,{})\w])(\s+)// (.*)$")
RULER = re.compile(r"^(---.*|\s*)$")


def escaped(text):
    """Text that Doxygen must not take for a command, a tag or a link."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):  # outside of code
        parts[i] = re.sub(r"([\\@<>#%&$])", r"\\\1", parts[i])
    return "`".join(parts)


def documented(lines):
    column = -1  # where the comment behind the line before began
    in_code = False
    top = True
    for line in lines:
        alone = ALONE.match(line)
        if not alone:
            top = top and line.strip() == ""
            in_code = False
            behind = BEHIND.match(line)
            if behind and '"' not in behind[3] and not line.lstrip().startswith(("#", "return", "if")):
                column = line.index("// ")
                yield f"{behind[1]}{behind[2]}///< {escaped(behind[3])}"
            else:
                column = -1
                yield line
            continue
        indent, text = alone.groups()
        if len(indent) == column:
            yield f"{indent}///< {escaped(text)}"
        elif text.startswith("--- "):
            column = -1
            yield f"{indent}//"
        elif text.startswith("  ") and not in_code:
            in_code, column = True, -1
            yield f"{indent}///     {text.strip()}" if top else f"{indent}///     {text[2:]}"
        elif text.startswith("  "):
            yield f"{indent}///     {text[2:]}"
        else:
            in_code, column = False, -1
            yield f"{indent}/// {escaped(text)}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    # The inline namespace of a target is no part of a name that users write.
    lines = [line for line in lines
             if line not in ("inline namespace WEFT_TARGET {", "}  // namespace WEFT_TARGET")
             and not re.search(r"\bImpl\b", line)]
    if lines and lines[0].startswith("//"):
        print("/// \\file")
    print("\n".join(documented(lines)))


if __name__ == "__main__":
    main()
