"""The folder of compiled programs. An entry is a folder of a program and what is known of it; it
is written under another name and renamed, so a reader finds it whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from .errors import CompileError, Error

# The size beyond which the entries that were unused for longest go.
LIMIT = 10 * 10**9
# Names of entries; the folder may have others' files.
KEY = re.compile("[0-9a-f]{64}")
# Names of entries that are written or removed; those of processes that were killed go after a day.
UNFINISHED, UNFINISHED_SECONDS = ".unfinished-", 24 * 3600
BUILDS = "builds.json"


def open_cache() -> pathlib.Path:
    """The folder, which is made if there is none. Nobody else may write there: its programs are
    run."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = pathlib.Path(given) if os.path.isabs(given) else pathlib.Path.home() / ".cache"
    folder = base / "tessera"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
            kind = "a link" if stat.S_ISLNK(found.st_mode) else "a file"
            raise CompileError(f"{folder}: expects a folder but got {kind}; remove it or set "
                               "XDG_CACHE_HOME")
        if found.st_uid != os.geteuid():
            raise CompileError(f"{folder}: expects a folder of user {os.geteuid()} but got one of "
                               f"{found.st_uid}; remove it or set XDG_CACHE_HOME")
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise CompileError(f"{folder}: expects mode 0700 but got "
                               f"{stat.S_IMODE(found.st_mode):04o}, with which others write there; "
                               "remove it or set XDG_CACHE_HOME")
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise refuse(folder, error) from None
    return folder


def refuse(path: pathlib.Path, error: OSError, kind: type[Error] = CompileError) -> Error:
    return kind(f"{path}: cannot be written: {error.strerror or error}")


def make_key(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find_entry(folder: pathlib.Path, key: str, names: Sequence[str]) -> pathlib.Path | None:
    """The entry of a key if it has all files. It counts as used now."""
    entry = folder / key
    if not all((entry / name).is_file() for name in names):
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)
    return entry


@contextlib.contextmanager
def writing(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A new folder, which is removed in the end unless it was renamed."""
    try:
        made = pathlib.Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    except OSError as error:
        raise refuse(folder, error) from None
    try:
        yield made
    except OSError as error:
        raise refuse(folder, error) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def add_entry(folder: pathlib.Path, made: pathlib.Path, key: str) -> pathlib.Path:
    """Renames a finished entry into place; that of another process, if it is there, stays."""
    entry = folder / key
    try:
        os.rename(made, entry)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    remove_oldest(folder, key)
    return entry


def size_of(entry: pathlib.Path) -> int:
    with os.scandir(entry) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files)


def remove_oldest(folder: pathlib.Path, kept: str, limit: int = LIMIT) -> None:
    """Removes the entries that were unused for longest until all have at most `limit` bytes."""
    found: list[tuple[float, int, pathlib.Path]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                used = entry.stat(follow_symlinks=False).st_mtime
                if KEY.fullmatch(entry.name):
                    found.append((used, size_of(pathlib.Path(entry.path)),
                                  pathlib.Path(entry.path)))
                elif entry.name.startswith(UNFINISHED) and used < time.time() - UNFINISHED_SECONDS:
                    shutil.rmtree(entry.path, ignore_errors=True)
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        if path.name == kept:
            continue
        # Others no longer find it, and a program that runs keeps its file.
        gone = folder / f"{UNFINISHED}{path.name}-{os.getpid()}"
        with contextlib.suppress(OSError):
            os.rename(path, gone)
            shutil.rmtree(gone, ignore_errors=True)
        total -= size


# Builds of the compiler.

def describe_file(path: pathlib.Path) -> list[Any]:
    """All that changes with a file's content, short of reading it."""
    found = path.stat()
    return [str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns,
            found.st_ctime_ns]


def hash_file(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def list_libraries(tool: pathlib.Path) -> list[str]:
    """The shared libraries that a tool loads; none for a script."""
    try:
        text = subprocess.run(["ldd", str(tool)], capture_output=True, text=True,
                              check=False).stdout
    except OSError:
        return []
    return sorted(word for line in text.splitlines() for word in line.split()
                  if word.startswith("/"))


def find_build(folder: pathlib.Path, tool: pathlib.Path,
               runtimes: Sequence[pathlib.Path]) -> str:
    """A text that differs between builds of the compiler: of the content of the tool, the runtimes
    that it links and the shared libraries that it loads. The folder remembers it for files that
    have not changed since."""
    def describe(libraries: Sequence[str]) -> list[Any]:
        return [describe_file(path)
                for path in [tool, *runtimes, *map(pathlib.Path, libraries)]]

    memory = folder / BUILDS
    known: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(memory.read_text())
    name = ":".join(map(str, [tool, *runtimes]))
    with contextlib.suppress(OSError, KeyError, TypeError):
        if known[name]["files"] == describe(known[name]["libraries"]):
            return str(known[name]["build"])
    try:
        libraries = list_libraries(tool)
        files = describe(libraries)
        build = make_key({"files": [hash_file(pathlib.Path(file[0])) for file in files]})
    except OSError as error:
        raise CompileError(f"{error.filename}: {error.strerror}") from None
    # A few builds are remembered, not every one that was ever used.
    known = {**dict(list(known.items())[-15:]),
             name: {"files": files, "libraries": libraries, "build": build}}
    replace_file(memory, lambda file: file.write_text(json.dumps(known)))
    return build


def replace_file(path: pathlib.Path, write: Callable[[pathlib.Path], object],
                 kind: type[Error] = CompileError) -> None:
    """Writes a file under another name and renames it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise refuse(path, error, kind) from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
