"""Measures of the sources: lengths, comments, tests, documentation, repetition, words.

    measures.py [--root FOLDER] [--list]

Reads the files that git tracks (all files without git), and needs no build. `--list` also names the
longest files and functions, each public declaration without a comment, each pair of code ranges
that share 12 lines, and each folder with more than 25 sources (.cpp).

Scopes are found by counting braces, which is exact enough for formatted sources. A declaration is
documented if a comment precedes it or its group (the lines before it without a blank line), or ends
its line. Declarations whose name suffices need no comment: data members, functions of one line,
constructors, destructors, operators, overrides, forward declarations, and functions of a template
that are defined apart from it."""

import argparse
import collections
import pathlib
import re
import subprocess

from prose import Prose

SHARED_LINES = 12
FOLDER_FILES = 25
CODE = (".cpp", ".h", ".cu", ".c")
PUBLIC = ("include/tessera/", "dialects/", "runtime/include/")


def find_files(root):
    git = ["git", "-C", str(root), "ls-files", "-z"]
    listed = subprocess.run(git, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        tops = [p for p in root.iterdir() if not p.name.startswith(("build", "."))]
        names = [str(p.relative_to(root)) for top in tops for p in [top, *top.rglob("*")]]
    return sorted(name for name in names if (root / name).is_file())


def folder_of(name):
    """lib/Partition/A.cpp: lib/Partition; runtime/src/kernels/A.cpp: runtime/src."""
    parts = name.split("/")[:-1]
    if parts[:2] == ["include", "tessera"]:
        return "/".join(parts[:3])
    return "/".join(parts[:2]) or "."


def blank_text(text):
    """Removes the contents of strings from the source, and keeps its lines."""
    pattern = r'R"(\w*)\((.*?)\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/' r"|'(?:\\.|[^'\\\n])'"

    def keep_lines(match):
        found = match.group(0)
        if found.startswith("//"):
            return found
        if found.startswith("/*"):
            return "\n".join("//" for _ in found.split("\n"))
        return '""' + "\n" * found.count("\n")

    return re.sub(pattern, keep_lines, text, flags=re.S)


class Source:
    """A C++ file: its lines, functions and public declarations."""

    def __init__(self, name, text):
        self.name = name
        self.lines = text.split("\n")
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        self.blanked = blank_text(text).split("\n")[: len(self.lines)]
        self.comments = 0
        self.written = 0
        self.functions = []
        self.undocumented = []
        self.read()

    def read(self):
        scopes = []  # [kind, public, first line of its head]
        head, head_line = "", 0
        is_documented = False
        for number, line in enumerate(self.blanked, 1):
            code, _, comment = line.partition("//")
            code = code.strip()
            has_comment = "//" in line
            self.written += bool(line.strip())
            self.comments += has_comment and not code
            if code.startswith("#"):
                continue
            if not code:
                if not head:
                    is_documented = has_comment
                continue
            in_declarations = not scopes or scopes[-1][0] in ("namespace", "class")
            if in_declarations and re.fullmatch(r"(public|private|protected):", code):
                scopes[-1][1] = code == "public:"
                continue
            if in_declarations and not head:
                head_line = number
            if in_declarations and has_comment:
                is_documented = True
            if in_declarations:
                head += " " + code
            for character in code:
                if character == "{":
                    kind = self.kind_of(head) if in_declarations else "block"
                    is_public = all(s[1] for s in scopes) and kind != "hidden"
                    if in_declarations:
                        self.declare(head, head_line, scopes, is_documented)
                    opens_public = not re.search(r"\bclass\b", head)
                    scopes.append([kind, is_public and (kind != "class" or opens_public), head_line])
                    in_declarations = kind in ("namespace", "class")
                    if in_declarations:
                        head, is_documented = "", False
                elif character == "}" and scopes:
                    kind, _, first = scopes.pop()
                    if kind == "function":
                        self.functions.append((number - first + 1, first))
                    in_declarations = not scopes or scopes[-1][0] in ("namespace", "class")
                    if kind != "initializer" and in_declarations:
                        head, is_documented = "", kind != "namespace" and is_documented
                elif character == ";" and in_declarations:
                    self.declare(head, head_line, scopes, is_documented)
                    head = ""
            if head.strip() == ";":
                head = ""

    @staticmethod
    def kind_of(head):
        head = re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=\w)", "", head).strip()
        if re.match(r"(inline )?namespace\s*$", head):
            return "hidden"
        if re.match(r"(inline )?namespace\b|extern\b", head):
            return "namespace"
        if re.match(r"(typedef )?(class|struct|union)\b", head) and "(" not in head.split(":")[0]:
            return "class"
        if re.match(r"(typedef )?enum\b", head):
            return "block"
        if "(" in head and not re.search(r"[^=!<>]=\s*$", head):
            return "function"
        return "initializer"

    def declare(self, head, number, scopes, is_documented):
        head = head.strip()
        if not self.name.startswith(PUBLIC) or not self.name.endswith(".h"):
            return
        if is_documented or not all(scope[1] for scope in scopes) or not head.strip("; "):
            return
        if re.match(r"(inline )?namespace|extern|using|friend|static_assert|typedef", head):
            return
        if re.fullmatch(r"(template\s*<.*>\s*)?(class|struct|enum class|enum)[\w: ]*;", head):
            return
        if re.search(r"\boperator\b|\boverride\b|= (default|delete)|~", head):
            return
        if re.match(r"[A-Z_0-9]+(\(|$)", head):
            return  # a macro
        if re.match(r"(explicit |constexpr |inline )*(\w+)\s*\(", head):
            return  # a constructor
        if re.search(r">::\w+\(", head):
            return  # a function of a template, which declares it
        is_type = re.match(r"(template\s*<.*>\s*)?(class|struct|union|enum)\b", head)
        is_data = "(" not in head.split("=")[0]
        is_short = self.blanked[number - 1].rstrip().endswith("}")
        if not is_type and (is_data or is_short):
            return  # a data member, or a function of one line
        self.undocumented.append((number, head[:70]))


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0


def distribution(values):
    return f"{quantile(values, 0.5):6} {quantile(values, 0.9):6} {max(values, default=0):6}"


def is_table_row(line):
    """True for rows of tables, which are similar by nature: literals without a statement."""
    return bool(re.match(r'[{"\d]', line)) or bool(re.fullmatch(r"[\w:.\"]+,", line))


def find_shared(sources):
    """Finds maximal pairs of code ranges that share SHARED_LINES lines or more."""
    code = {}
    windows = collections.defaultdict(list)
    for name, lines in sources.items():
        kept = []
        for number, line in enumerate(lines, 1):
            line = re.sub(r"\s+", " ", line.strip())
            if line and not re.match(r"//|/\*|\*|#|using |namespace |import |from ", line):
                kept.append((number, line))
        code[name] = kept
        rows = [is_table_row(line) for _, line in kept]
        for at in range(len(kept) - SHARED_LINES + 1):
            if 2 * sum(rows[at : at + SHARED_LINES]) < SHARED_LINES:
                window = [line for _, line in kept[at : at + SHARED_LINES]]
                windows["\n".join(window)].append((name, at))
    pairs = set()
    for places in windows.values():
        for i, first in enumerate(places):
            for second in places[i + 1 :]:
                if first[0] != second[0] or second[1] - first[1] >= SHARED_LINES:
                    pairs.add((first, second))
    found = []
    for (a, i), (b, j) in sorted(pairs):
        if ((a, i - 1), (b, j - 1)) in pairs:
            continue
        length = 0
        while ((a, i + length), (b, j + length)) in pairs:
            length += 1
        length += SHARED_LINES - 1
        found.append((length, a, code[a][i][0], b, code[b][j][0]))
    return sorted(found, reverse=True)


def count_tests(root, names):
    counts = collections.Counter()
    for name in names:
        if not name.startswith("test/") or "/Inputs/" in name:
            continue
        if name.endswith((".mlir", ".test")):
            counts[folder_of(name)] += 1
        elif name.endswith(".cpp"):
            text = (root / name).read_text()
            folder = "/".join(name.split("/")[:3]) if "/unit/" in name else folder_of(name)
            found = len(re.findall(r"^TEST(?:_F|_P)?\(", text, flags=re.M))
            if found:
                counts[folder] += found
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=here)
    parser.add_argument("--list", action="store_true", help="name the places, too")
    args = parser.parse_args()
    names = find_files(args.root)
    sources = [
        Source(name, (args.root / name).read_text()) for name in names if name.endswith(CODE)
    ]
    folders = collections.defaultdict(list)
    for source in sources:
        folders[folder_of(source.name)].append(source)

    print("folder                     files   lines  median    p90    max  comments")
    for folder, members in sorted(folders.items()) + [("all", sources)]:
        lines = [len(source.lines) for source in members]
        share = sum(s.comments for s in members) / max(1, sum(s.written for s in members))
        print(f"{folder:25} {len(members):6} {sum(lines):7}  {distribution(lines)}  {share:6.1%}")
    functions = [length for source in sources for length, _ in source.functions]
    print(f"\n{len(functions)} functions, lines: median, p90, max {distribution(functions)}")

    print("\ntests by folder")
    counts = count_tests(args.root, names)
    for folder, count in sorted(counts.items()) + [("all", sum(counts.values()))]:
        print(f"{folder:25} {count:6}")

    undocumented = [(s.name, *found) for s in sources for found in s.undocumented]
    print(f"\npublic declarations without a comment: {len(undocumented)}")
    lines = {s.name: s.lines for s in sources}
    lines.update(
        {n: (args.root / n).read_text().split("\n") for n in names if n.endswith(".py")}
    )
    shared = find_shared(lines)
    print(f"pairs of places that share {SHARED_LINES} lines or more: {len(shared)}")
    sizes = collections.Counter(
        str(pathlib.PurePosixPath(name).parent) for name in names if name.endswith(".cpp")
    )
    large = sorted(folder for folder, size in sizes.items() if size > FOLDER_FILES)
    print(f"folders of more than {FOLDER_FILES} sources: {len(large)}")
    prose = Prose(args.root, names)
    print("\n".join(prose.summarize()))
    if not args.list:
        return
    for name, number, head in undocumented:
        print(f"{name}:{number}: no comment: {head}")
    for length, a, i, b, j in shared:
        print(f"{a}:{i} and {b}:{j} share {length} lines")
    for folder in large:
        print(f"{folder}: {sizes[folder]} sources")
    print("\n".join(prose.places()))
    longest = sorted(sources, key=lambda s: -len(s.lines))[:10]
    for source in longest:
        print(f"{source.name}: {len(source.lines)} lines")
    ranked = sorted(((n, s.name, at) for s in sources for n, at in s.functions), reverse=True)
    for length, name, at in ranked[:10]:
        print(f"{name}:{at}: a function of {length} lines")


if __name__ == "__main__":
    main()
