//===- Checkpoint.cpp - tessera checkpoint --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at the checkpoints that programs write with --checkpoint. The runtime's
// library reads them.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "runtime/include/tessera_checkpoint.h"
#include "tessera/Report/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <memory>

using namespace tessera;
using llvm::StringRef;

namespace {

const OptionSpec kOptions[] = {
    {"--json", "", "with list and show: print a JSON array of objects"},
    {"-o", "FILE", "with export: write one safetensors file of whole tensors",
     /*isOutput=*/true},
    {"--folder", "DIR",
     "with export: write DIR/NAME.npy, for --inputs of a program"},
};

const CommandSpec kCommand = {
    "checkpoint",
    "list|show|verify|export PATH [options]",
    "Looks at the checkpoints that a program writes with --checkpoint.",
    "PATH is a program's folder of checkpoints, or the folder of one step in "
    "it.\n"
    "  list    the step, age, size, ranks and mesh of each, and whether it is "
    "whole:\n"
    "          its manifest is as it was written and no file is missing or "
    "cut\n"
    "  show    the tensors of one (of the newest)\n"
    "  verify  compare the checksums of all files\n"
    "  export  write the whole tensors of one (of the newest), whatever its "
    "mesh",
    kOptions,
    "  tessera checkpoint list ck\n"
    "  tessera checkpoint verify ck/step-00000100\n"
    "  tessera checkpoint export ck -o weights.safetensors"};

struct Close {
  void operator()(tessera_rt_checkpoint *opened) const {
    tessera_rt_checkpoint_close(opened);
  }
};
using Checkpoint = std::unique_ptr<tessera_rt_checkpoint, Close>;

/// The paths of the checkpoints at `path`, the oldest first.
llvm::Expected<std::vector<std::string>> findCheckpoints(StringRef path) {
  tessera_rt_checkpoints *list =
      tessera_rt_checkpoints_open(path.str().c_str());
  std::string error = tessera_rt_checkpoints_error(list);
  std::vector<std::string> paths;
  for (int64_t i = 0; const char *one = tessera_rt_checkpoints_path(list, i);
       ++i)
    paths.push_back(one);
  tessera_rt_checkpoints_close(list);
  if (error.empty() && paths.empty())
    error = ("expects checkpoints in '" + path + "', but there are none").str();
  if (!error.empty())
    return llvm::createStringError(error);
  return paths;
}

Checkpoint open(StringRef path) {
  return Checkpoint(tessera_rt_checkpoint_open(path.str().c_str()));
}

/// Opens the newest checkpoint at `path`.
llvm::Expected<Checkpoint> openNewest(StringRef path) {
  auto paths = findCheckpoints(path);
  if (!paths)
    return paths.takeError();
  Checkpoint opened = open(paths->back());
  StringRef error = tessera_rt_checkpoint_error(opened.get());
  if (!error.empty())
    return llvm::createStringError(error);
  return opened;
}

/// "12 s", "5 min", "3 h", "2 d".
std::string describeAge(double seconds) {
  struct {
    double seconds;
    const char *name;
  } const units[] = {{86400, " d"}, {3600, " h"}, {60, " min"}};
  for (const auto &unit : units)
    if (seconds >= 2 * unit.seconds)
      return std::to_string(int64_t(seconds / unit.seconds)) + unit.name;
  return std::to_string(int64_t(std::max(seconds, 0.0))) + " s";
}

std::string describeShape(const tessera_rt_checkpoint_tensor &tensor) {
  return "[" +
         llvm::join(
             llvm::map_range(llvm::ArrayRef(tensor.shape, tensor.rank),
                             [](int64_t size) { return std::to_string(size); }),
             ", ") +
         "]";
}

/// The state of a checkpoint in a list.
std::string describeState(StringRef error) {
  return error.empty() ? "whole" : "damaged: " + error.str();
}

llvm::Error list(StringRef path, bool isJson) {
  auto paths = findCheckpoints(path);
  if (!paths)
    return paths.takeError();
  double now = std::chrono::duration<double>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
  Table table({"path", "step", "age", "size", "ranks", "mesh", "state"});
  table.alignLeft(5);
  table.alignLeft(6);
  llvm::json::Array rows;
  for (const std::string &one : *paths) {
    Checkpoint opened = open(one);
    std::string state =
        describeState(tessera_rt_checkpoint_error(opened.get()));
    if (state != "whole") {
      table.addRow({one, "", "", "", "", "", state});
      rows.push_back(llvm::json::Object{{"path", one}, {"state", state}});
      continue;
    }
    tessera_rt_checkpoint_facts facts =
        tessera_rt_checkpoint_describe(opened.get());
    table.addRow({one, std::to_string(facts.step),
                  describeAge(now - facts.time),
                  fixedText(double(facts.bytes) / 1e6, 2) + " MB",
                  std::to_string(facts.ranks), std::string(facts.mesh), state});
    rows.push_back(llvm::json::Object{{"path", one},
                                      {"step", facts.step},
                                      {"data_position", facts.data_position},
                                      {"data", facts.data},
                                      {"program", facts.program},
                                      {"time", facts.time},
                                      {"bytes", facts.bytes},
                                      {"ranks", facts.ranks},
                                      {"mesh", facts.mesh},
                                      {"state", state}});
  }
  if (isJson)
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(rows)));
  else
    table.print(llvm::outs());
  return llvm::Error::success();
}

llvm::Error show(StringRef path, bool isJson) {
  auto opened = openNewest(path);
  if (!opened)
    return opened.takeError();
  Table table({"tensor", "role", "type", "shape"});
  for (size_t column : {1, 2, 3})
    table.alignLeft(column);
  llvm::json::Array rows;
  int64_t count = tessera_rt_checkpoint_describe(opened->get()).tensors;
  for (int64_t i = 0; i < count; ++i) {
    tessera_rt_checkpoint_tensor tensor =
        tessera_rt_checkpoint_get_tensor(opened->get(), i);
    table.addRow({std::string(tensor.name), std::string(tensor.role),
                  std::string(tensor.dtype), describeShape(tensor)});
    rows.push_back(llvm::json::Object{
        {"name", tensor.name},
        {"role", tensor.role},
        {"dtype", tensor.dtype},
        {"shape",
         llvm::json::Array(llvm::ArrayRef(tensor.shape, tensor.rank))}});
  }
  if (isJson)
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(rows)));
  else
    table.print(llvm::outs());
  return llvm::Error::success();
}

/// Prints a line for each checkpoint; a damaged one is an error.
llvm::Error verify(StringRef path) {
  auto paths = findCheckpoints(path);
  if (!paths)
    return paths.takeError();
  size_t damaged = 0;
  for (const std::string &one : *paths) {
    Checkpoint opened = open(one);
    std::string error = tessera_rt_checkpoint_error(opened.get());
    if (error.empty())
      error = tessera_rt_checkpoint_verify(opened.get());
    llvm::outs() << one << ": " << describeState(error) << "\n";
    damaged += !error.empty();
  }
  llvm::outs().flush();
  if (damaged == 0)
    return llvm::Error::success();
  return llvm::createStringError(std::to_string(damaged) + " of " +
                                 std::to_string(paths->size()) +
                                 " checkpoints damaged");
}

llvm::Error exportTensors(StringRef path, const ParsedOptions &options) {
  bool asFolder = options.has("--folder");
  if (asFolder == options.has("-o"))
    return llvm::createStringError(
        "export expects -o FILE or --folder DIR but got " +
        StringRef(asFolder ? "both" : "neither"));
  auto opened = openNewest(path);
  if (!opened)
    return opened.takeError();
  StringRef target = options.get(asFolder ? "--folder" : "-o");
  StringRef error = tessera_rt_checkpoint_verify(opened->get());
  if (error.empty())
    error = tessera_rt_checkpoint_export(opened->get(), target.str().c_str(),
                                         asFolder);
  if (!error.empty())
    return llvm::createStringError(error);
  tessera_rt_checkpoint_facts facts =
      tessera_rt_checkpoint_describe(opened->get());
  llvm::outs() << "wrote " << facts.tensors << " tensors of step " << facts.step
               << " to " << target << "\n";
  return llvm::Error::success();
}

llvm::Error run(const ParsedOptions &options) {
  if (options.positional.size() != 2)
    return llvm::createStringError(
        "expects list, show, verify or export, and a PATH; see tessera "
        "checkpoint --help");
  StringRef action = options.positional[0], path = options.positional[1];
  bool isJson = options.has("--json"), isExport = action == "export";
  if (!isExport && (options.has("-o") || options.has("--folder")))
    return llvm::createStringError("-o and --folder expect export but got " +
                                   action);
  if (isJson && action != "list" && action != "show")
    return llvm::createStringError("--json expects list or show but got " +
                                   action);
  if (action == "list")
    return list(path, isJson);
  if (action == "show")
    return show(path, isJson);
  if (action == "verify")
    return verify(path);
  if (isExport)
    return exportTensors(path, options);
  return llvm::createStringError(
      "expects list, show, verify or export but got '" + action + "'");
}

} // namespace

const CommandSpec &tessera::getCheckpointSpec() { return kCommand; }

int tessera::runCheckpoint(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto options = parseOptions(kCommand, arguments);
  if (!options)
    return reportError(kCommand.name, options.takeError());
  if (llvm::Error error = run(*options))
    return reportError(kCommand.name, std::move(error));
  return 0;
}
