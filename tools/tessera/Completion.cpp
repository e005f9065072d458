//===- Completion.cpp - tessera completion --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a script that completes command lines of `tessera`. It is made from
// the tables of options, so that it has the options that help texts have, and
// holds the names of share/ as they are when it is printed.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "tessera/Support/Share.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr CommandSpec kCommand = {
    "completion",
    "bash|zsh",
    "Prints a script that completes subcommands, options and their values.",
    "Files are offered where a value is no name or choice of an option.",
    {},
    "  source <(tessera completion bash)\n"
    "  tessera completion zsh > ~/.zfunc/_tessera",
    Section::None,
    "",
    /*choices=*/"bash|zsh",
    /*shared=*/""};

/// The words that a value or an argument is completed to, in addition to files.
std::string listValues(StringRef choices, StringRef shared) {
  std::string words = llvm::join(llvm::split(choices, '|'), " ");
  if (!shared.empty())
    words += (words.empty() ? "" : " ") + llvm::join(listShared(shared), " ");
  return words;
}

/// A shell's words for the parts of a script.
struct Shell {
  /// Before and after the arms.
  StringRef start, end;
  /// Commands that offer words ("{}"), and files.
  StringRef words, files;
};

constexpr Shell kBash = {
    R"(# Completes command lines of tessera: source <(tessera completion bash)
_tessera() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} at=$COMP_CWORD
  # "--name=value" is three words.
  if [[ $current == '=' ]]; then
    current=
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
)",
    "}\ncomplete -o filenames -F _tessera tessera\n",
    R"(COMPREPLY+=($(compgen -W "{}" -- "$current")))",
    R"(COMPREPLY+=($(compgen -f -- "$current")))"};

constexpr Shell kZsh = {
    R"(#compdef tessera
# Completes command lines of tessera: source <(tessera completion zsh), or this
# file as _tessera in a folder of $fpath.
_tessera() {
  local current=$words[CURRENT] before=$words[CURRENT-1]
  local command=$words[2] at=$((CURRENT - 1))
  if [[ $current == --*=* ]]; then
    before=${current%%=*}
    current=${current#*=}
    compset -P '*='
  fi
)",
    R"(}
if [[ $funcstack[1] == _tessera ]]; then
  _tessera "$@"
else
  compdef _tessera tessera
fi
)",
    R"(compadd -- {})", "_files"};

class Writer {
public:
  Writer(const Shell &shell, llvm::raw_ostream &os) : shell(shell), os(os) {}

  void write() {
    os << shell.start;
    std::string names;
    for (const Command &command : getCommands())
      names += (command.name + " ").str();
    os << "  if [[ $at == 1 ]]; then\n    ";
    offer(names + "--help --version", /*files=*/false);
    os << "    return\n  fi\n  case \"$command $before\" in\n";
    for (const Command &command : getCommands())
      writeValues(command.getSpec());
    os << "  esac\n  case \"$command $current\" in\n";
    for (const Command &command : getCommands())
      writeNames(command.getSpec());
    os << "  esac\n  case $command in\n";
    for (const Command &command : getCommands())
      writeArguments(command.getSpec());
    os << "  esac\n" << shell.end;
  }

private:
  /// Offers words, which may be none, and files.
  void offer(StringRef offered, bool files) {
    StringRef separator = "";
    if (!offered.empty()) {
      auto [before, after] = shell.words.split("{}");
      os << before << offered << after;
      separator = "; ";
    }
    if (files)
      os << separator << shell.files;
    os << "\n";
  }

  /// The arms for values of options.
  void writeValues(const CommandSpec &command) {
    for (const OptionSpec &option : command.options) {
      if (option.value.empty() || option.value == kFlagValue ||
          !command.lists(option))
        continue;
      os << "  '" << command.name << " " << option.name << "')\n    ";
      offer(listValues(option.choices, option.shared),
            /*files=*/option.choices.empty());
      os << "    return ;;\n";
    }
  }

  /// The arm for names of options.
  void writeNames(const CommandSpec &command) {
    std::string names;
    for (const OptionSpec &option : command.options)
      if (command.lists(option))
        names += (option.name + " ").str();
    os << "  '" << command.name << " -'*)\n    ";
    offer(names + "--help --help-all --version", /*files=*/false);
    os << "    return ;;\n";
  }

  /// The arm for arguments that are no options.
  void writeArguments(const CommandSpec &command) {
    os << "  " << command.name << ")\n    ";
    offer(listValues(command.choices, command.shared),
          /*files=*/command.choices.empty());
    os << "    ;;\n";
  }

  const Shell &shell;
  llvm::raw_ostream &os;
};

} // namespace

const CommandSpec &tessera::getCompletionSpec() { return kCommand; }

int tessera::runCompletion(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  StringRef name =
      parsed->positional.size() == 1 ? parsed->positional[0] : StringRef();
  if (name != "bash" && name != "zsh")
    return reportError(kCommand.name, "expects bash or zsh but got '" +
                                          llvm::join(parsed->positional, " ") +
                                          "'");
  llvm::Error error = writeOutput("", [&](llvm::raw_ostream &os) {
    Writer(name == "bash" ? kBash : kZsh, os).write();
  });
  return error ? reportError(kCommand.name, std::move(error)) : 0;
}
