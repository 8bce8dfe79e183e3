#!/usr/bin/env python3
"""Fails on two pages of one title, on links to files or headings that are not there, and where code, scripts or pages name
a page of docs/ that is not there.

check_docs.py [TREE]; or check_docs.py --html FOLDER, the same of built pages: titles, and links to pages and anchors.
"""
import collections
import html.parser
import os
import pathlib
import re
import sys
import urllib.parse

SKIPPED = {".git", ".cache", ".device", "build", "install", "__pycache__"}
TEXT = {".md", ".py", ".sh", ".txt", ".cmake", ".h", ".hpp", ".c", ".cpp", ".cu", ""}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]+\.md\b")
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1`* *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+).+?\1", re.DOTALL)


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            if pathlib.Path(name).suffix in TEXT:
                yield pathlib.Path(folder, name)


def anchor_of(heading):
    """The name that GitHub and MyST give a heading."""
    words = re.sub(r"\{\w+\}`([^`]*)`", r"\1", heading).replace("`", "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def headings_of(text):
    return [match[1] for match in re.finditer(r"^#{1,6} (.+)$", FENCE.sub("", text), re.MULTILINE)]


def check_links(root, path, text):
    for match in LINK.finditer(CODE.sub("", FENCE.sub("", text))):
        url = urllib.parse.urlsplit(match[1])
        if url.scheme or url.netloc:
            continue
        target = path.parent / urllib.parse.unquote(url.path) if url.path else path
        if not target.exists():
            yield f"{path.relative_to(root)}: no file '{match[1]}'"
        elif url.fragment and target.suffix == ".md":
            anchors = map(anchor_of, headings_of(target.read_text(encoding="utf-8")))
            if url.fragment not in anchors:
                yield f"{path.relative_to(root)}: no heading '{match[1]}'"


def repeated(titles):
    return [f"'{title}' is the title of {', '.join(sorted(names))}" for title, names in titles.items() if len(names) > 1]


def check_tree(root):
    errors, titles, count = [], collections.defaultdict(list), 0
    for path in files_of(root):
        name = path.relative_to(root)
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.name not in ("CHANGELOG.md", "check_docs_test.py"):  # what was then; samples
            errors += [f"{name}: no page '{page}'" for page in sorted(set(NAMED.findall(text)))
                       if not (root / page).exists() and "YYYY" not in page]
        if path.suffix == ".md":
            count += 1
            errors += check_links(root, path, text)
            if name.parts[0] == "docs" and (headings := headings_of(text)):
                titles[headings[0]].append(str(name))
    return errors + repeated(titles), count


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.title, self.anchors, self.links = "", set(), []
        self.in_title = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        # SVG in a page has titles of its own, which come later.
        self.in_title = tag == "title" and not self.title
        for key, value in attributes:
            if key in ("id", "name"):
                self.anchors.add(value)
            elif value and (key, tag) in (("href", "a"), ("src", "img"), ("data", "object")):
                self.links.append(value)

    def handle_endtag(self, tag):
        self.in_title = False

    def handle_data(self, data):
        if self.in_title:
            self.title += data


def check_html(root):
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")
             if "_static" not in path.parts}
    errors, titles = [], collections.defaultdict(list)
    for path, page in pages.items():
        name = str(path.relative_to(root.resolve()))
        titles[page.title].append(name)
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                errors.append(f"{name}: no file '{link}'")
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                errors.append(f"{name}: no anchor '{link}'")
    return errors + repeated(titles), len(pages)


def main():
    if sys.argv[1:2] == ["--html"]:
        errors, count = check_html(pathlib.Path(sys.argv[2]))
    else:
        errors, count = check_tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]))
    print(*errors, f"{count} pages, {len(errors)} errors", sep="\n")
    return 1 if errors or not count else 0


if __name__ == "__main__":
    sys.exit(main())
