//===- tessera-opt.cpp - Runs passes over IR ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the passes of Tessera. A module that crashes MLIR's parser is
// an error, as in tessera, and a diagnostic has no note with the whole op
// unless --mlir-print-op-on-diagnostic asks for it. Modules are parsed twice,
// since mlir-opt's own parse and its passes cannot be told apart from here.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tessera/Registration/Registration.h"
#include "tessera/Support/Interrupts.h"
#include "tessera/Support/ModuleText.h"
#include "tools/common/ParserGuard.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include <csignal>

using namespace mlir;
using llvm::StringRef;

/// Fails if the text of a file exceeds the limits of MLIR's parser; a crash of
/// the parser ends the process with an error. Ordinary parse errors are left to
/// mlir-opt's own parse.
static llvm::Error checkFile(StringRef path, StringRef text,
                             const DialectRegistry &registry,
                             const MlirOptMainConfig &config) {
  if (llvm::Error error = tessera::checkModuleText(path, text))
    return error;
  SmallVector<StringRef> modules{text};
  if (config.inputSplitMarker() != "") {
    modules.clear();
    text.split(modules, config.inputSplitMarker());
  }
  tessera::ParserGuard guard(path);
  for (StringRef module : modules) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
    ScopedDiagnosticHandler handler(&context,
                                    [](Diagnostic &) { return success(); });
    Block block;
    (void)parseSourceString(module, &block,
                            ParserConfig(&context, /*verifyAfterParse=*/false));
  }
  return llvm::Error::success();
}

static LogicalResult run(StringRef input, StringRef output,
                         DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  if (!file) {
    llvm::errs() << message << "\n";
    return failure();
  }
  if (llvm::Error error =
          checkFile(input, file->getBuffer(), registry, config)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  auto written = openOutputFile(output, &message);
  if (!written) {
    llvm::errs() << message << "\n";
    return failure();
  }
  LogicalResult done =
      MlirOptMain(written->os(), std::move(file), registry, config);
  written->os().flush();
  if (std::error_code code = written->os().error()) {
    // A pending error would end the process with a crash report.
    written->os().clear_error();
    llvm::errs() << "error: " << output
                 << ": cannot be written: " << code.message() << "\n";
    return failure();
  }
  if (failed(done))
    return failure();
  written->keep();
  return success();
}

/// Changes the default of a flag of MLIR's, which users can still give.
static void setDefault(StringRef name, bool value) {
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name);
  assert(option && "expects a flag of MLIR");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(value);
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  tessera::registerDialects(registry);
  registerAllPasses();
  tessera::registerPasses();
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tessera " TESSERA_VERSION "\n"; });
  std::string header = registerCLIOptions(
      "Tessera's optimizer: partitions tensor programs over a mesh", registry);
  setDefault("mlir-print-op-on-diagnostic", false);
  auto [input, output] = parseCLIOptions(argc, argv, header);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM initialized(argc, argv);
  // A write beyond the file size limit of the process returns an error instead
  // of ending it.
  std::signal(SIGXFSZ, SIG_IGN);
  tessera::cleanUpOnInterrupts();
  return asMainReturnCode(run(input, output, registry, config));
}
