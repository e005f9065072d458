//===- Options.cpp - Options of a subcommand ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing, help and error lines of every subcommand.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "tessera/Support/Bytes.h"
#include "tessera/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <deque>
#include <limits>

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

StringRef ParsedOptions::get(StringRef name, StringRef byDefault) const {
  auto found = values.find(name);
  return found == values.end() ? byDefault : found->second;
}

std::string
ParsedOptions::getCommandLine(llvm::ArrayRef<StringRef> without) const {
  std::vector<StringRef> kept;
  for (const auto &[option, word] : words)
    if (!llvm::is_contained(without, option))
      kept.push_back(word);
  return llvm::join(kept, " ");
}

llvm::SmallVector<StringRef> ParsedOptions::getList(StringRef name) const {
  llvm::SmallVector<StringRef> list;
  get(name).split(list, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return list;
}

llvm::Expected<std::optional<int64_t>>
ParsedOptions::getInteger(StringRef name, int64_t minimum) const {
  if (!has(name))
    return std::nullopt;
  std::optional<int64_t> number = parseCount(get(name));
  if (!number || *number < minimum ||
      *number > std::numeric_limits<int32_t>::max())
    return llvm::createStringError(name + " expects an integer from " +
                                   Twine(minimum) + " to 2147483647 but got '" +
                                   get(name) + "'");
  return number;
}

llvm::Expected<size_t> ParsedOptions::getChoice(StringRef name,
                                                StringRef byDefault) const {
  const OptionSpec *row = llvm::find_if(
      table, [&](const OptionSpec &option) { return option.name == name; });
  assert(row != table.end() && !row->choices.empty() && "expects choices");
  llvm::SmallVector<StringRef> choices;
  row->choices.split(choices, '|');
  StringRef value = get(name, byDefault);
  const StringRef *found = llvm::find(choices, value);
  if (found != choices.end())
    return found - choices.begin();
  return llvm::createStringError(name + " expects " +
                                 llvm::join(choices, " or ") + " but got '" +
                                 value + "'");
}

static llvm::Error makeUnwritable(StringRef path, std::error_code code) {
  return llvm::createStringError(path +
                                 ": cannot be written: " + code.message());
}

/// Fails if no file can be created at `path` ("" or "-" is stdout).
static llvm::Error checkOutput(StringRef path) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  bool isFound = !fs::status(path, status);
  if (path.empty() || path == "-" || (isFound && fs::is_other(status)))
    return llvm::Error::success();
  if (isFound && fs::is_directory(status))
    return makeUnwritable(path,
                          std::make_error_code(std::errc::is_a_directory));
  // Links are followed: the file that they name is replaced.
  llvm::SmallString<128> real;
  if (fs::real_path(path, real))
    real = path;
  StringRef folder = llvm::sys::path::parent_path(real);
  folder = folder.empty() ? "." : folder;
  std::error_code code = fs::access(folder, fs::AccessMode::Exist);
  if (!code && !fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (!code)
    code = fs::access(folder, fs::AccessMode::Write);
  return code ? makeUnwritable(path, code) : llvm::Error::success();
}

/// Rewrites an argument with an old spelling to the option that it is now, and
/// says so on stderr. Returns false if no option has this spelling.
static bool updateSpelling(const CommandSpec &command, StringRef &argument,
                           std::string &text) {
  auto [name, value] = argument.split('=');
  for (const OptionSpec &option : command.options) {
    if (option.old.empty() || option.old != name)
      continue;
    bool isNegated = name == ("--no-" + option.name.drop_front(2)).str();
    text = option.name.str();
    if (isNegated)
      text += value.empty() || value == "on" ? "=off"
              : value == "off"               ? "=on"
                                             : ("=" + value).str();
    else if (argument.contains('='))
      text += ("=" + value).str();
    llvm::errs() << "tessera " << command.name << ": " << name << " is now "
                 << (isNegated ? StringRef(text) : option.name) << "\n";
    argument = text;
    return true;
  }
  return false;
}

/// Quotes a word where a shell would read it otherwise.
static std::string quoteWord(StringRef word) {
  auto isPlain = [](char c) {
    return llvm::isAlnum(c) || StringRef("_./,:=+@%-").contains(c);
  };
  if (!word.empty() && llvm::all_of(word, isPlain))
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

llvm::Expected<ParsedOptions> tessera::parseOptions(const CommandSpec &command,
                                                    Arguments arguments) {
  ParsedOptions parsed;
  parsed.table = command.options;
  parsed.words = {{"", "tessera"}, {"", command.name.str()}};
  auto addWord = [&](StringRef word, StringRef option = "") {
    parsed.words.emplace_back(option, quoteWord(word));
  };
  while (!arguments.empty()) {
    StringRef argument = arguments.front();
    arguments = arguments.drop_front();
    if (argument == "--") {
      parsed.positional.append(arguments.begin(), arguments.end());
      addWord(argument);
      for (StringRef rest : arguments)
        addWord(rest);
      break;
    }
    if (argument == "-" || !argument.starts_with("-")) {
      parsed.positional.push_back(argument);
      addWord(argument);
      continue;
    }

    auto find = [&] {
      return llvm::find_if(command.options, [&](const OptionSpec &o) {
        return o.name == argument.split('=').first;
      });
    };
    const OptionSpec *option = find();
    if (option == command.options.end() &&
        updateSpelling(command, argument, parsed.texts.emplace_back()))
      option = find();
    size_t equals = argument.find('=');
    StringRef name = argument.substr(0, equals);
    if (option == command.options.end()) {
      llvm::SmallVector<StringRef> known;
      for (const OptionSpec &o : command.options)
        known.push_back(o.name);
      return llvm::createStringError(
          "unknown option '" + name + "'" + didYouMean(name, known) +
          "; see tessera " + command.name + " --help");
    }
    StringRef value;
    bool isNextWord = false;
    if (option->value == kFlagValue) {
      if (equals != StringRef::npos)
        value = argument.substr(equals + 1);
    } else if (option->value.empty()) {
      if (equals != StringRef::npos)
        return llvm::createStringError(name + " takes no value");
    } else if (equals != StringRef::npos) {
      value = argument.substr(equals + 1);
    } else if (!arguments.empty()) {
      value = arguments.front();
      arguments = arguments.drop_front();
      isNextWord = true;
    } else {
      return llvm::createStringError(name + " expects a value " +
                                     option->value);
    }
    if (option->section != Section::Output) {
      addWord(argument, option->name);
      if (isNextWord)
        addWord(value, option->name);
    }
    parsed.given.push_back(option->name);
    auto [known, isNew] = parsed.values.try_emplace(name, value);
    if (!isNew && !option->isRepeated)
      return llvm::createStringError(name + " is given twice");
    if (!isNew)
      known->second =
          parsed.texts.emplace_back((known->second + "," + value).str());
  }
  parsed.commandLine = parsed.getCommandLine({});
  for (const OptionSpec &option : command.options)
    if (option.isOutput && parsed.has(option.name))
      if (llvm::Error error = checkOutput(parsed.get(option.name)))
        return error;
  return parsed;
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static StringRef getTitle(Section section) {
  constexpr StringRef kTitles[] = {
      "Options",  "Cluster and plan", "Mesh and strategy",
      "Training", "Optimizer",        "Execution",
      "Search",   "Target",           "Kernels and overlap",
      "Data",     "Checks",           "Report",
      "Output"};
  return kTitles[static_cast<size_t>(section)];
}

llvm::ArrayRef<OptionSpec>
tessera::arrangeOptions(llvm::ArrayRef<OptionSpec> own,
                        llvm::ArrayRef<OptionSpec> more) {
  static std::deque<std::vector<OptionSpec>> tables;
  std::vector<OptionSpec> &sorted = tables.emplace_back();
  for (size_t i = 0; i <= static_cast<size_t>(Section::Output); ++i)
    for (llvm::ArrayRef<OptionSpec> table : {own, more}) {
      Section current = Section::None;
      for (const OptionSpec &row : table) {
        if (row.section != Section::None)
          current = row.section;
        if (row.name.empty() || current != static_cast<Section>(i))
          continue;
        sorted.push_back(row);
        sorted.back().section = current;
      }
    }
  return sorted;
}

/// Breaks a paragraph into lines of at most `width`.
static llvm::SmallVector<std::string> wrap(StringRef text, size_t width) {
  llvm::SmallVector<std::string> lines(1);
  while (true) {
    text = text.ltrim(" \n");
    if (text.empty())
      return lines;
    StringRef word =
        text.take_until([](char c) { return c == ' ' || c == '\n'; });
    text = text.drop_front(word.size());
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word.str();
  }
}

/// Formats "  --name VALUE".
static std::string formatName(const OptionSpec &option) {
  bool isFlag = option.value.empty() || option.value == kFlagValue;
  return ("  " + option.name + (isFlag ? "" : " ") + option.value).str();
}

/// Prints the rows that `help` has a text for, by section.
static void
printSections(const CommandSpec &command,
              llvm::function_ref<StringRef(const OptionSpec &)> help,
              StringRef separator, llvm::raw_ostream &os) {
  constexpr size_t kWidth = 80;
  size_t column = 0;
  for (const OptionSpec &option : command.options)
    if (!help(option).empty() && command.lists(option))
      column = std::max(column, formatName(option).size() + 2);
  std::optional<Section> section;
  for (const OptionSpec &option : command.options) {
    StringRef text = help(option);
    if (text.empty() || !command.lists(option))
      continue;
    if (section != option.section)
      os << separator << getTitle(option.section) << ":\n";
    section = option.section;
    std::string left = formatName(option);
    for (const std::string &line : wrap(text, kWidth - column)) {
      os << left;
      os.indent(column - left.size()) << line << "\n";
      left.clear();
    }
  }
}

/// Number of the options that the command lists and that `isCounted`.
static size_t
countOptions(const CommandSpec &command,
             llvm::function_ref<bool(const OptionSpec &)> isCounted) {
  return llvm::count_if(command.options, [&](const OptionSpec &option) {
    return isCounted(option);
  });
}

/// Prints the options that most users need, on a screen.
static void printShortHelp(const CommandSpec &command, size_t numOthers,
                           llvm::raw_ostream &os) {
  os << "usage: tessera " << command.name << " " << command.usage << "\n\n"
     << command.summary << "\n\n";
  printSections(
      command, [](const OptionSpec &option) { return option.brief; }, "", os);
  os << "\n--help-all lists " << numOthers << " more options\n";
}

static void printFullHelp(const CommandSpec &command, bool hasShort,
                          llvm::raw_ostream &os) {
  os << "usage: tessera " << command.name << " " << command.usage << "\n\n"
     << command.summary << "\n\n"
     << command.description << "\n";
  printSections(
      command, [](const OptionSpec &option) { return option.help; }, "\n", os);
  if (size_t count = countOptions(command, [&](const OptionSpec &option) {
        return !command.lists(option);
      }))
    os << "\nThere are " << count << " " << command.unlistedText << "\n";
  os << "\n"
     << (hasShort ? "--help lists the options that most users need, --version"
                  : "--help prints this text, --version")
     << " the versions\n";
  if (!command.examples.empty())
    os << "\nExamples:\n" << command.examples << "\n";
}

void tessera::printVersion(llvm::raw_ostream &os) {
  os << "tessera " TESSERA_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}

std::optional<int> tessera::showHelp(const CommandSpec &command,
                                     Arguments arguments) {
  arguments = arguments.take_until([](StringRef a) { return a == "--"; });
  if (llvm::is_contained(arguments, "--version")) {
    llvm::Error error = writeOutput("", printVersion);
    return error ? reportError(command.name, std::move(error)) : 0;
  }
  bool wantsAll = llvm::is_contained(arguments, "--help-all");
  if (!wantsAll && !llvm::is_contained(arguments, "--help") &&
      !llvm::is_contained(arguments, "-h"))
    return std::nullopt;
  size_t numOthers = countOptions(command, [&](const OptionSpec &option) {
    return command.lists(option) && option.brief.empty();
  });
  bool hasShort = countOptions(command, [](const OptionSpec &option) {
                    return !option.brief.empty();
                  }) > 0;
  llvm::Error error = writeOutput("", [&](llvm::raw_ostream &os) {
    if (hasShort && !wantsAll)
      printShortHelp(command, numOthers, os);
    else
      printFullHelp(command, hasShort, os);
  });
  return error ? reportError(command.name, std::move(error)) : 0;
}

//===----------------------------------------------------------------------===//
// Errors and files
//===----------------------------------------------------------------------===//

int tessera::reportError(StringRef command, const Twine &text) {
  llvm::errs() << "tessera" << (command.empty() ? "" : " ") << command
               << ": error: " << text << "\n";
  return 1;
}

int tessera::reportError(StringRef command, llvm::Error error) {
  return reportError(command, llvm::toString(std::move(error)));
}

void tessera::printNote(StringRef command, StringRef text) {
  if (!text.empty())
    llvm::errs() << "tessera " << command << ": note: " << text << "\n";
}

/// Writes to a stream; returns the error code of the stream.
static std::error_code
writeAll(llvm::raw_fd_ostream &os,
         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  write(os);
  os.flush();
  std::error_code code = os.error();
  // A pending error would end the process with a crash report.
  os.clear_error();
  return code;
}

/// Writes a temporary file in the same folder and renames it to `path`. On any
/// failure the existing file stays unchanged.
static std::error_code
replaceFile(StringRef path,
            llvm::function_ref<void(llvm::raw_ostream &)> write) {
  // The file that links lead to, if it exists.
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(path, real))
    real = path;
  auto file = llvm::sys::fs::TempFile::create(
      real + ".%%%%%%.tmp", llvm::sys::fs::all_read | llvm::sys::fs::all_write);
  if (!file)
    return llvm::errorToErrorCode(file.takeError());
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  if (std::error_code code = writeAll(os, write)) {
    llvm::consumeError(file->discard());
    return code;
  }
  return llvm::errorToErrorCode(file->keep(real));
}

llvm::Error
tessera::writeOutput(StringRef path,
                     llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code code;
  bool isOutput = path.empty() || path == "-";
  llvm::sys::fs::file_status status;
  bool isFound = !isOutput && !llvm::sys::fs::status(path, status);
  // Devices and pipes are opened as they are; a folder fails to open.
  if (isOutput || (isFound && !llvm::sys::fs::is_regular_file(status))) {
    llvm::raw_fd_ostream os(isOutput ? "-" : path, code,
                            llvm::sys::fs::OF_Text);
    if (!code)
      code = writeAll(os, write);
  } else {
    code = replaceFile(path, write);
  }
  if (!code)
    return llvm::Error::success();
  return makeUnwritable(isOutput ? "standard output" : path, code);
}

std::string tessera::withSeparators(int64_t number) {
  std::string digits = std::to_string(number);
  size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}
