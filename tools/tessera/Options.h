//===- Options.h - Options of a subcommand ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of options, from which both the parser and `--help` are generated,
// and the error reports of every subcommand. LLVM's CommandLine is not used: it
// has one set of options per process and lists LLVM's own among them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_OPTIONS_H
#define TESSERA_TOOLS_OPTIONS_H

#include "Commands.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>
#include <optional>

namespace tessera {

/// The value of a flag that may be given as "--sp=off".
inline constexpr llvm::StringRef kFlagValue = "[=on|off]";

/// The sections of a help text, in the order in which it has them.
enum class Section {
  /// No heading, for short tables.
  None,
  Cluster,
  Mesh,
  Training,
  Optimizer,
  Execution,
  Search,
  Target,
  Kernels,
  Data,
  Checks,
  Report,
  Output,
};

/// One row of the table.
struct OptionSpec {
  /// The name with its dashes: "--batch", "-o".
  llvm::StringRef name;
  /// Name of its value in the help, "N"; empty for a flag; kFlagValue for a
  /// flag that may have a value.
  llvm::StringRef value;
  /// One paragraph; line breaks are spaces.
  llvm::StringRef help;
  /// True if its value is a file that the command writes. The parser checks
  /// that the file can be created before the command does any work.
  bool isOutput = false;
  Section section = Section::None;
  /// One line for `--help`; empty if only `--help-all` has the option.
  llvm::StringRef brief = {};
  /// An earlier spelling, which the parser takes with a line on stderr and no
  /// text shows; "--no-overlap" of "--overlap" is a flag for its value off.
  llvm::StringRef old = {};
  /// All values, separated by '|'; empty if there are others.
  llvm::StringRef choices = {};
  /// The folder of share/ whose files are values by name.
  llvm::StringRef shared = {};
  /// True if it may be given several times: its values are joined by commas.
  bool isRepeated = false;
};

/// A row of a table after which all rows are in this section.
constexpr OptionSpec section(Section section) {
  OptionSpec row;
  row.section = section;
  return row;
}

/// An option that most users need: `--help` shows it with one line.
constexpr OptionSpec common(llvm::StringRef brief, OptionSpec row) {
  row.brief = brief;
  return row;
}

/// The same for a row with a help text of one line.
constexpr OptionSpec common(OptionSpec row) { return common(row.help, row); }

/// An option that had another spelling.
constexpr OptionSpec formerly(llvm::StringRef old, OptionSpec row) {
  row.old = old;
  return row;
}

/// An option with a value of `choices`, separated by '|'.
constexpr OptionSpec choice(llvm::StringRef choices, OptionSpec row) {
  row.choices = choices;
  return row;
}

/// An option that may be given several times.
constexpr OptionSpec repeated(OptionSpec row) {
  row.isRepeated = true;
  return row;
}

/// An option whose value may be the name of a file of a folder of share/.
constexpr OptionSpec named(llvm::StringRef shared, OptionSpec row) {
  row.shared = shared;
  return row;
}

/// Returns the rows of tables that may have section rows, by section and then
/// in their order. They live as long as the process.
llvm::ArrayRef<OptionSpec> arrangeOptions(llvm::ArrayRef<OptionSpec> own,
                                          llvm::ArrayRef<OptionSpec> more = {});

/// The name, texts and options of a subcommand.
struct CommandSpec {
  llvm::StringRef name;
  /// "CONFIG.json [options]".
  llvm::StringRef usage;
  /// One line.
  llvm::StringRef summary;
  /// Paragraphs for the user, already wrapped.
  llvm::StringRef description;
  /// Sorted by section.
  llvm::ArrayRef<OptionSpec> options;
  /// Complete command lines, one per line.
  llvm::StringRef examples;
  /// A section whose options the command takes but does not list.
  Section unlisted = Section::None;
  /// The place that lists them, after their number: "more: docs/plan.md".
  llvm::StringRef unlistedText = {};
  /// OptionSpec::choices and OptionSpec::shared of the arguments.
  llvm::StringRef choices = {};
  llvm::StringRef shared = {};

  /// True if help texts may show the option.
  bool lists(const OptionSpec &option) const {
    return option.section == Section::None || option.section != unlisted;
  }
};

/// The options and arguments that the user gave.
class ParsedOptions {
public:
  /// True if the option is given.
  bool has(llvm::StringRef name) const { return values.contains(name); }
  /// The value of an option, or `byDefault`.
  llvm::StringRef get(llvm::StringRef name,
                      llvm::StringRef byDefault = "") const;
  /// The value split at commas; empty if the option is not given.
  llvm::SmallVector<llvm::StringRef> getList(llvm::StringRef name) const;
  /// The value as an integer of at least `minimum`; none if not given.
  llvm::Expected<std::optional<int64_t>> getInteger(llvm::StringRef name,
                                                    int64_t minimum) const;
  /// Index of the value (or of `byDefault`) in the choices of the option's row;
  /// an error if it is not one of them.
  llvm::Expected<size_t> getChoice(llvm::StringRef name,
                                   llvm::StringRef byDefault) const;

  /// Arguments that are not options, in order.
  llvm::SmallVector<llvm::StringRef> positional;
  /// The command line without the options of Section::Output, as a shell reads
  /// it.
  std::string commandLine;
  /// The same without further options.
  std::string getCommandLine(llvm::ArrayRef<llvm::StringRef> without) const;
  /// Names of the options, in the order in which they are given.
  llvm::SmallVector<llvm::StringRef> given;

private:
  friend llvm::Expected<ParsedOptions> parseOptions(const CommandSpec &command,
                                                    Arguments arguments);
  llvm::ArrayRef<OptionSpec> table;
  llvm::StringMap<llvm::StringRef> values;
  /// The words of `commandLine`, each with the option that it belongs to.
  std::vector<std::pair<llvm::StringRef, std::string>> words;
  /// Texts that names and values refer to; a deque does not move them.
  std::deque<std::string> texts;
};

/// Parses `--name value`, `--name=value`, flags and positional arguments; "--"
/// ends the options, "-" is positional. An old spelling prints a line that has
/// the new one. Errors: an unknown or repeated option,
/// a missing or superfluous value, an output file that cannot be created.
llvm::Expected<ParsedOptions> parseOptions(const CommandSpec &command,
                                           Arguments arguments);

/// Prints the versions of Tessera and LLVM.
void printVersion(llvm::raw_ostream &os);

/// Prints a text about a subcommand on stdout if the arguments ask for one
/// (before any "--"): --help or -h, the options that most users need;
/// --help-all; or --version. Returns the exit status; none if they do not ask.
std::optional<int> showHelp(const CommandSpec &command, Arguments arguments);

/// Prints "tessera <command>: error: <text>" on stderr; returns exit status 1.
int reportError(llvm::StringRef command, const llvm::Twine &text);
int reportError(llvm::StringRef command, llvm::Error error);

/// Prints "tessera <command>: note: <text>" on stderr; nothing for no text.
void printNote(llvm::StringRef command, llvm::StringRef text);

/// Calls `write` to fill the file `path` ("" or "-" is stdout). On a file
/// system error an existing file stays unchanged and no partial file remains.
llvm::Error writeOutput(llvm::StringRef path,
                        llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Formats 1234567 as "1,234,567".
std::string withSeparators(int64_t number);

} // namespace tessera

#endif // TESSERA_TOOLS_OPTIONS_H
