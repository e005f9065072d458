//===- Run.cpp - tessera run ----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled program contains its launcher: this subcommand checks that the
// file is such a program, and then executes it in its own process.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr CommandSpec kCommand = {
    "run",
    "PROGRAM [options of the program]",
    "Runs a program that tessera compile made.",
    "The program contains its launcher: everything after PROGRAM is handed to\n"
    "it, and 'PROGRAM --help' tells its options, among them\n"
    "  --ranks N   start N ranks on this machine\n"
    "  --steps N   run N steps\n"
    "  --data F    take tokens from the file F\n"
    "This is the same as starting PROGRAM itself, after a check that it is a\n"
    "program of Tessera. Under torchrun, mpirun or srun start PROGRAM itself.",
    {},
    "  tessera run prog --ranks 4\n"
    "  tessera run prog --help"};

/// A key of the manifest, which every program contains as text (see
/// tessera_rt.h). Symbols cannot identify it: a program may be stripped.
constexpr StringRef kManifestKey = "\"arena_bytes\"";

llvm::Error checkProgram(StringRef path) {
  auto error = [&](const llvm::Twine &text) {
    return llvm::createStringError(path + ": " + text);
  };
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return error("cannot be run: " + code.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return error("expects a program but got " +
                 StringRef(llvm::sys::fs::is_directory(status)
                               ? "a directory"
                               : "something that is no file"));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error("cannot be read: " + buffer.getError().message());
  StringRef content = (*buffer)->getBuffer();
  switch (llvm::identify_magic(content)) {
  case llvm::file_magic::elf_executable:
  case llvm::file_magic::elf_shared_object: // position independent
    break;
  default:
    return error("expects a program but got something else; tessera compile "
                 "makes one");
  }
  // memmem is fast on a large file without matches.
  if (!memmem(content.data(), content.size(), kManifestKey.data(),
              kManifestKey.size()))
    return error("expects a program of tessera compile but got another one");
  if (!llvm::sys::fs::can_execute(path))
    return error("cannot be run: it is not marked executable");
  return llvm::Error::success();
}

} // namespace

const CommandSpec &tessera::getRunSpec() { return kCommand; }

int tessera::runRun(Arguments arguments) {
  // Only arguments before the program belong to this command.
  if (std::optional<int> status =
          showHelp(kCommand, arguments.take_front(!arguments.empty())))
    return *status;
  if (arguments.empty())
    return reportError(kCommand.name,
                       "expects a PROGRAM; see tessera run --help");
  if (arguments.front().starts_with("-"))
    return reportError(kCommand.name, "expects a PROGRAM before its options "
                                      "but got '" +
                                          arguments.front() + "'");
  if (llvm::Error error = checkProgram(arguments.front()))
    return reportError(kCommand.name, std::move(error));

  llvm::SmallVector<char *> argv;
  for (StringRef argument : arguments)
    argv.push_back(const_cast<char *>(argument.data()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return reportError(kCommand.name,
                     arguments.front() + ": cannot be run: " + strerror(errno));
}
