//===- Key.cpp - tessera key ----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the key by which the nodes of a job know each other. The runtime's
// library draws and writes it.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "runtime/include/tessera_key.h"

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr OptionSpec kOptions[] = {
    {"-o", "FILE", "write a new file that only its owner can read",
     /*isOutput=*/true},
};

constexpr CommandSpec kCommand = {
    "key",
    "[-o FILE]",
    "Makes a key for a run on several nodes.",
    "Nodes that share no folder know each other by a key, of 128 hexadecimal\n"
    "digits, which all of them get in a file or in $TESSERA_KEY. Who has it "
    "can\n"
    "take part in the run.",
    kOptions,
    "  tessera key -o run.key\n  export TESSERA_KEY=$(tessera key)"};

} // namespace

const CommandSpec &tessera::getKeySpec() { return kCommand; }

int tessera::runKey(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  if (!parsed->positional.empty())
    return reportError(kCommand.name,
                       "unexpected '" + parsed->positional[0] + "'");
  std::string path = parsed->get("-o").str();
  if (!path.empty()) {
    StringRef message = tessera_rt_key_write(path.c_str());
    return message.empty() ? 0 : reportError(kCommand.name, message);
  }
  char text[TESSERA_RT_KEY_DIGITS + 1];
  if (StringRef message = tessera_rt_key_draw(text); !message.empty())
    return reportError(kCommand.name, message);
  llvm::Error error =
      writeOutput("", [&](llvm::raw_ostream &os) { os << text << "\n"; });
  return error ? reportError(kCommand.name, std::move(error)) : 0;
}
