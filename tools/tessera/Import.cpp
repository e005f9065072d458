//===- Import.cpp - tessera import ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, and input and output files. lib/StableHLO and lib/Raise convert the
// graph.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Programs.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "tessera/Phases/ImportPipeline.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Support/ModuleText.h"
#include "tessera/Training/WholeParameters.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr OptionSpec kOptions[] = {
    {"--inputs", "LIST",
     "arguments of floats, separated by commas, that are inputs;\n"
     "all others are parameters"},
    {"--no-raise", "LIST",
     "ops that groups of ops do not become: gelu, silu, softmax,\n"
     "layer_norm, rms_norm, cross_entropy, attention, rope; or all"},
    {"--dims", "LIST",
     "names of the dimensions of arguments, by which strategies\n"
     "shard, as ids=batch,seq;mask=batch; others follow"},
    {"--tokens", "NAME",
     "the input that programs fill with the tokens of --data;\n"
     "default: tokens"},
    {"--labels", "NAME",
     "the input that they fill with labels; default: labels"},
    choice("0|1", {"--label-shift", "N",
                   "by how many tokens labels are later than tokens: 1\n"
                   "(default), or 0 for a loss that shifts them itself"}),
    {"--locations", "",
     "write which node or line of the source each op is from"},
    {"-o", "FILE", "write the graph there (default: stdout)",
     /*isOutput=*/true},
};

constexpr CommandSpec kCommand = {
    "import",
    "FILE.mlir [options]",
    "Reads a graph of StableHLO, linalg or the compiler's own ops.",
    "FILE.mlir is a module of StableHLO in MLIR's generic form, or of nn,\n"
    "arith, math, tensor and linalg; python3 -m tessera import makes it from\n"
    "a torch module, a JAX function, a file of ONNX, pretty text and "
    "bytecode.\n"
    "Integers of StableHLO are inputs, and floats are parameters; a function "
    "of\n"
    "one float is a loss. The graph is in the form that tessera model prints:\n"
    "tessera compile, verify and run take it from there.",
    kOptions,
    "  tessera import model.mlir -o g.mlir\n"
    "  tessera import vision.mlir --inputs images -o g.mlir"};

/// True if ops of StableHLO have their pretty form, which only their dialect
/// parses.
bool isPretty(StringRef text) {
  // A fast check first: most files have no such op.
  if (!text.contains("hlo.") && !text.contains("sdy."))
    return false;
  llvm::Regex op("(^|=)[ \t]*(stablehlo|chlo|vhlo|mhlo|sdy)\\.[a-z_]+",
                 llvm::Regex::Newline);
  return op.match(text);
}

llvm::Error makeUnreadable(StringRef path, StringRef form) {
  return llvm::createStringError(
      path + ": expects MLIR's generic form but got " + form +
      "; python3 -m tessera import " + path + " reads it");
}

/// Reads the module of a file ("-": stdin). The error for an unreadable form
/// names the command that reads it.
llvm::Expected<Module> readGraph(StringRef path, mlir::MLIRContext &context) {
  std::string message;
  auto file = mlir::openInputFile(path, &message);
  if (!file)
    return llvm::createStringError(message);
  if (llvm::Error error = checkModuleText(path, file->getBuffer()))
    return error;
  bool isBytecode = file->getBuffer().starts_with("ML\xefR");
  if (!isBytecode && isPretty(file->getBuffer()))
    return makeUnreadable(path, "StableHLO's own");
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (!isBytecode)
                                            printDiagnostic(diagnostic);
                                        });
  Module module = parseGuarded(std::move(file), path, context);
  if (module)
    return module;
  if (isBytecode)
    return makeUnreadable(path, "bytecode of other dialects");
  return llvm::make_error<Reported>();
}

llvm::Error run(const ParsedOptions &parsed) {
  if (parsed.positional.size() != 1)
    return llvm::createStringError("expects one FILE.mlir but got " +
                                   llvm::Twine(parsed.positional.size()) +
                                   "; see tessera import --help");
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  auto module = readGraph(parsed.positional[0], context);
  if (!module)
    return module.takeError();
  ImportOptions options;
  for (StringRef name : parsed.getList("--inputs"))
    options.inputs.push_back(name.str());
  for (StringRef name : parsed.getList("--no-raise"))
    options.noRaise.push_back(name.str());
  options.dims = parsed.get("--dims").str();
  options.tokens = parsed.get("--tokens").str();
  options.labels = parsed.get("--labels").str();
  auto shift = parsed.getChoice("--label-shift", "1");
  if (!shift)
    return shift.takeError();
  options.labelShift = *shift;
  mlir::PassManager pm(&context);
  buildImport(pm, options);
  if (failed(pm.run(**module)))
    return llvm::make_error<Reported>();
  printNote(kCommand.name, describeWholeParameters(**module));
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(parsed.has("--locations"));
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    (*module)->print(os, flags);
  });
}

} // namespace

const CommandSpec &tessera::getImportSpec() { return kCommand; }

int tessera::runImport(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  llvm::Error error = run(*parsed);
  if (!error)
    return 0;
  if (!error.isA<Reported>())
    return reportError(kCommand.name, std::move(error));
  llvm::consumeError(std::move(error));
  return 1;
}
