"""Writes python/tessera/options.py, the options of the compiler as keywords of tessera.compile:
python3 python/write_options.py TESSERA > python/tessera/options.py."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

# Options that tessera.compile sets itself, and those that an optimizer has.
OWN = {"-o", "--quiet", "--compile-to", "--keep-reference", "--forward", "--dist-report",
       "--mesh", "--locations", "--verify-each"}
OPTIMIZER = {"--optimizer", "--lr", "--lr-schedule", "--warmup", "--total-steps", "--min-lr",
             "--beta1", "--beta2", "--eps", "--weight-decay", "--momentum", "--clip", "--groups"}
# Types of keywords by the names of values in the help; others are texts.
TYPES = {"": "bool", "N": "int", "K": "int", "X": "float", "BYTES": "Union[int, str]",
         "FILE": "Union[str, os.PathLike[str]]", "CLUSTER": "Union[str, os.PathLike[str]]",
         "on|off": "Union[bool, str]"}


def read_options(tessera: str, command: str) -> list[tuple[str, str, str]]:
    """Name, value and help text of each option."""
    text = subprocess.run([tessera, command, "--help-all"], check=True, capture_output=True,
                          text=True).stdout
    found = re.findall(r"^  (-[\w-]+) ?([^\s]*)(?: {2,}|\n {4,})((?:.+\n)(?: {8,}.+\n)*)", text,
                       re.MULTILINE)
    return [(name, value, " ".join(help_text.split())) for name, value, help_text in found]


def type_of(value: str, help_text: str) -> str:
    if re.search(r"\b(on|off) \(default\)", help_text):
        return "Union[bool, str]"
    if value == "N" and re.search(r"auto \(default\)|; off$", help_text):
        return "Union[int, str]"
    return TYPES.get(value, "str")


def print_class(name: str, about: str, options: list[tuple[str, str, str]]) -> None:
    print(f'\n\nclass {name}(TypedDict, total=False):\n    """{about}"""')
    for option, value, help_text in options:
        keyword = option.lstrip("-").replace("-", "_")
        # A string literal takes no backslash and no quotes of its own as they are.
        lines = textwrap.wrap(help_text.replace("\\", "\\\\").replace('"', "'"), 88)
        print(f"    {keyword}: {type_of(value, help_text)}")
        print('    """' + "\n    ".join(lines) + '."""')


def print_table(name: str, about: str, options: list[tuple[str, str, str]]) -> None:
    print(f"\n# {about}\n{name} = {{")
    for option, value, help_text in options:
        kind = type_of(value, help_text)
        types = {"bool": "(bool,)", "int": "(int,)", "float": "(int, float)",
                 "Union[int, str]": "(int, str)", "Union[bool, str]": "(bool, str)",
                 "Union[str, os.PathLike[str]]": "(str, os.PathLike)"}.get(kind, "(str,)")
        keyword = option.lstrip("-").replace("-", "_")
        # Files that are written exist only after the compiler has run.
        writes = value == "FILE" and bool(re.search(r"\bwrite the\b|: write\b|^write", help_text))
        print(f'    "{keyword}": Option("{option}", {types}, "{value}", {writes}),')
    print("}")


def main(tessera: str) -> None:
    compiled = [row for row in read_options(tessera, "compile")
                if row[0] not in OWN and row[0] not in OPTIMIZER]
    imported = [row for row in read_options(tessera, "import") if row[0] not in OWN]
    print('"""Options of `tessera compile` and `tessera import` as keywords of tessera.compile.\n\n'
          'python/write_options.py makes this file from their help texts."""\n\n'
          "from __future__ import annotations\n\n"
          "import os\nfrom typing import NamedTuple, TypedDict, Union\n\n\n"
          'class Option(NamedTuple):\n'
          '    """An option: its name, the types of its keyword, the name of its value in the help '
          'and\n    whether it is a file that the compiler writes."""\n'
          "    name: str\n    types: tuple[type, ...]\n    value: str\n    is_written: bool")
    print_class("ImportOptions", "The options of `tessera import`.", imported)
    print_class("CompileOptions", "The options of `tessera compile`.", compiled)
    print("\n\nclass Options(ImportOptions, CompileOptions, total=False):\n"
          '    """All of them."""\n')
    print_table("IMPORT", "The options of `tessera import` by keyword.", imported)
    print_table("COMPILE", "The options of `tessera compile` by keyword.", compiled)


if __name__ == "__main__":
    main(sys.argv[1])
