#!/usr/bin/env python3
"""The record of mutants is of code: edits of comments and layout leave it good, all others do not."""
import mutate

code = mutate.code_of("int a = 1;  // one\n\n  if (a) b();\n")
assert code == mutate.code_of("// first\nint a = 1;\nif (a)\n  b();  // then\n")
assert code != mutate.code_of("int a = 2;\nif (a) b();\n")
assert code != mutate.code_of("int a = 1;  // mutation: equivalent, nobody looks\nif (a) b();\n")
