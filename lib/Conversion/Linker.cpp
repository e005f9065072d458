//===- Linker.cpp - Merging and linking objects ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linker.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <gnu/libc-version.h>
#include <link.h>

using namespace tessera;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The linker in the tool, as its first argument names it.
static constexpr StringRef kLLD = "ld.lld";

/// Returns the file `name` next to a library.
static std::string besideLibrary(StringRef library, const llvm::Twine &name) {
  llvm::SmallString<128> path(library);
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// Returns the words and paths that the link line needs after the archive
/// LIB.a, in order, from the file LIB.link next to it. An archive without a
/// folder is next to it, too. Returns none if there is no such file.
static std::vector<std::string> wordsAfter(StringRef library) {
  llvm::SmallString<128> path(library);
  llvm::sys::path::replace_extension(path, "link");
  std::vector<std::string> words;
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return words;
  llvm::SmallVector<StringRef> parts;
  llvm::SplitString((*text)->getBuffer(), parts, " \n");
  for (StringRef part : parts) {
    bool isNear = part.ends_with(".a") && !part.contains('/');
    words.push_back(isNear ? besideLibrary(library, part) : part.str());
  }
  return words;
}

/// Summarizes a linker's log in one line: the undefined symbols, or the first
/// error.
static std::string summarize(StringRef log) {
  llvm::SetVector<StringRef> symbols;
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    for (StringRef marker : {"undefined reference to ", "undefined symbol: "})
      if (size_t at = line.find(marker); at != StringRef::npos)
        symbols.insert(line.substr(at + marker.size()).trim("`' \r"));
  constexpr size_t kShown = 3;
  if (!symbols.empty()) {
    std::string text = "undefined symbols: ";
    text += llvm::join(llvm::ArrayRef(symbols.getArrayRef()).take_front(kShown),
                       ", ");
    if (symbols.size() > kShown)
      text += " and " + std::to_string(symbols.size() - kShown) + " more";
    return text;
  }
  auto *error = llvm::find_if(
      lines, [](StringRef line) { return line.contains("error: "); });
  if (error == lines.end())
    error = lines.begin();
  return error == lines.end() ? "" : error->str();
}

/// Runs a linker to create `output`.
static Error runLinker(StringRef linker, llvm::ArrayRef<StringRef> arguments,
                       StringRef output) {
  TemporaryFile log;
  if (Error error = log.create("tessera-link", "txt"))
    return error;
  llvm::SmallVector<StringRef> words(arguments);
  words.append({"-o", output});
  Error error = runProgram(linker, words, log.getPath());
  if (!error)
    return error;
  std::string said = llvm::toString(std::move(error));
  if (auto text = llvm::MemoryBuffer::getFile(log.getPath()))
    if (std::string summary = summarize((*text)->getBuffer()); !summary.empty())
      said = summary;
  bool isOurs = arguments.front() == kLLD;
  return llvm::createStringError((isOurs ? "lld" : linker) + " cannot link " +
                                 output + ": " + said);
}

/// Runs a C++ compiler driver found on PATH to create `output`.
static Error runDriver(llvm::ArrayRef<StringRef> arguments, StringRef output) {
  for (StringRef name : {"clang++-22", "clang++", "c++", "g++"})
    if (auto found = llvm::sys::findProgramByName(name))
      return runLinker(*found, arguments, output);
  return llvm::createStringError(
      "expects a C++ compiler on PATH to link with (clang++-22, clang++, c++ "
      "or g++) but found none");
}

//===----------------------------------------------------------------------===//
// Linking without a driver
//===----------------------------------------------------------------------===//

std::string tessera::findLinkingTool(StringRef library) {
  if (!llvm::sys::fs::exists(besideLibrary(library, "start.o")))
    return "";
  // A build folder; an installed tree.
  for (StringRef above : {"../..", "../../.."}) {
    llvm::SmallString<128> path(besideLibrary(library, above));
    llvm::sys::path::append(path, "bin", "tessera");
    llvm::SmallString<128> real;
    if (!llvm::sys::fs::real_path(path, real) &&
        llvm::sys::fs::can_execute(real))
      return real.str().str();
  }
  return "";
}

namespace {
/// The files of the C library that this process runs on.
struct CLibrary {
  std::string libc, libm, loader;
};
} // namespace

static Expected<CLibrary> findCLibrary() {
  CLibrary files;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &files = *static_cast<CLibrary *>(data);
        StringRef path = info->dlpi_name,
                  name = llvm::sys::path::filename(path);
        if (name == "libc.so.6")
          files.libc = path.str();
        else if (name == "libm.so.6")
          files.libm = path.str();
        else if (name.starts_with("ld-linux"))
          files.loader = path.str();
        return 0;
      },
      &files);
  unsigned major = 0, minor = 0;
  StringRef version = gnu_get_libc_version();
  version.consumeInteger(10, major);
  version.consume_front(".");
  version.consumeInteger(10, minor);
  if (files.libc.empty() || files.libm.empty() || files.loader.empty() ||
      std::pair(major, minor) < std::pair(2u, 34u))
    return llvm::createStringError(
        "expects glibc 2.34 or newer to link with, but found " +
        StringRef(gnu_get_libc_version()) + "; see --runtime-library");
  return files;
}

/// Links an object with everything that is beside `library`.
static Error linkByTool(StringRef tool, StringRef object, StringRef library,
                        StringRef output) {
  Expected<CLibrary> c = findCLibrary();
  if (!c)
    return c.takeError();
  std::vector<std::string> near;
  for (StringRef name : {"start.o", "crtbegin.o", "libc++.a", "libunwind.a",
                         "builtins.a", "crtend.o"})
    near.push_back(besideLibrary(library, name));
  return runLinker(tool,
                   {kLLD, "-pie", "--gc-sections", "--eh-frame-hdr", "-z",
                    "relro", "-z", "now",
                    // Libraries that objects name are parts of libc.
                    "--no-dependent-libraries", "-dynamic-linker",
                    "/lib64/ld-linux-x86-64.so.2", near[0], near[1], object,
                    library, near[2], near[3], near[4], c->libm, c->libc,
                    "--as-needed", c->loader, near[5]},
                   output);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Error tessera::mergeObjects(llvm::ArrayRef<std::string> objects,
                            StringRef library, StringRef output) {
  std::string tool = findLinkingTool(library);
  llvm::SmallVector<StringRef> arguments;
  if (tool.empty())
    arguments = {"-r", "-nostdlib"};
  else
    arguments = {kLLD, "-r"};
  arguments.append(objects.begin(), objects.end());
  return tool.empty() ? runDriver(arguments, output)
                      : runLinker(tool, arguments, output);
}

Error tessera::linkExecutable(StringRef object, StringRef library,
                              StringRef output) {
  if (std::string tool = findLinkingTool(library); !tool.empty())
    return linkByTool(tool, object, library, output);
  std::vector<std::string> more = wordsAfter(library);
  llvm::SmallVector<StringRef> arguments = {object, library};
  arguments.append(more.begin(), more.end());
  arguments.append({"-pthread", "-lm"});
  return runDriver(arguments, output);
}
