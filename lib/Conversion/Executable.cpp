//===- Executable.cpp - From LLVM dialect to a linked program -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Executable.h"
#include "KnownSymbols.h"
#include "NarrowFloats.h"
#include "Optimize.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace tessera;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

void tessera::registerExecutableTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Object
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const ObjectOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  std::string cpu = options.cpu, features;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    llvm::SmallVector<std::string> names;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      names.push_back((feature.second ? "+" : "-") + feature.first().str());
    // A StringMap has no order.
    llvm::sort(names);
    features = llvm::join(names, ",");
  }
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!info->isCPUStringValid(cpu))
    return llvm::createStringError("expects a cpu that LLVM knows for " +
                                   triple.getArchName() + " but got '" + cpu +
                                   "'");
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_));
  machine->setOptLevel(options.optLevel == 0
                           ? llvm::CodeGenOptLevel::None
                           : llvm::CodeGenOptLevel::Aggressive);
  return machine;
}

Error tessera::writeObject(mlir::ModuleOp module, const ObjectOptions &options,
                           StringRef path) {
  auto machine = createMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(module, context, "tessera_program");
  if (!code)
    return llvm::createStringError("the module does not translate to LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  // Kernels stream through rows: the widest vectors that there are.
  if ((*machine)->getMCSubtargetInfo()->checkFeatures("+avx512f"))
    for (llvm::Function &function : *code)
      if (!function.isDeclaration())
        function.addFnAttr("prefer-vector-width", "512");
  llvm::PipelineTuningOptions tuning;
  bool vectorize = options.optLevel > 1;
  tuning.LoopVectorization = tuning.SLPVectorization = vectorize;
  tuning.LoopInterleaving = tuning.LoopUnrolling = vectorize;
  expandNarrowFloats(*code, **machine);
  optimize(*code, **machine, options.optLevel, tuning);
  // Between casts that stay, LLVM has made some of it narrow again.
  expandNarrowFloats(*code, **machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream buffer(bytes);
  llvm::legacy::PassManager backend;
  if ((*machine)->addPassesToEmitFile(backend, buffer, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("LLVM cannot write objects for this target");
  backend.run(*code);
  if (Error error = checkSymbols({buffer.str(), path}, options.cpu))
    return error;

  std::error_code failure;
  llvm::raw_fd_ostream os(path, failure);
  if (failure)
    return llvm::createStringError(path +
                                   ": cannot be written: " + failure.message());
  os << buffer.str();
  os.close();
  if (os.has_error())
    return llvm::createStringError(
        path + ": cannot be written: " + os.error().message());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Link
//===----------------------------------------------------------------------===//

Expected<std::string> tessera::findRuntimeLibrary(StringRef given,
                                                  StringRef toolDirectory,
                                                  StringRef name) {
  llvm::SmallString<128> path(given);
  if (given.empty()) {
    path = llvm::sys::path::parent_path(toolDirectory);
    llvm::sys::path::append(path, "lib", "lib" + name + ".a");
  }
  if (!llvm::sys::fs::exists(path))
    return llvm::createStringError("expects the runtime's library at " + path +
                                   "; see --runtime-library");
  return path.str().str();
}

/// What the archive LIB.a needs on the link line after it, from LIB.link beside
/// it: words and paths, in order. None where there is no such file.
static std::vector<std::string> wordsAfter(StringRef library) {
  llvm::SmallString<128> path(library);
  llvm::sys::path::replace_extension(path, "link");
  std::vector<std::string> words;
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return words;
  llvm::SmallVector<StringRef> parts;
  llvm::SplitString((*text)->getBuffer(), parts, " \n");
  for (StringRef part : parts)
    words.push_back(part.str());
  return words;
}

/// One line of a linker's log: the symbols that it lacks, or its first error.
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

Error tessera::linkExecutable(StringRef object, StringRef library,
                              StringRef output) {
  std::string driver;
  for (StringRef name : {"clang++-22", "clang++", "c++", "g++"})
    if (auto found = llvm::sys::findProgramByName(name)) {
      driver = *found;
      break;
    }
  if (driver.empty())
    return llvm::createStringError(
        "expects a C++ compiler on PATH to link with (clang++-22, clang++, c++ "
        "or g++) but found none");
  llvm::SmallString<128> log;
  if (std::error_code failure =
          llvm::sys::fs::createTemporaryFile("tessera-link", "txt", log))
    return llvm::createStringError("no temporary file: " + failure.message());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  llvm::SmallVector<StringRef> arguments = {driver, object, library};
  std::vector<std::string> more = wordsAfter(library);
  arguments.append(more.begin(), more.end());
  arguments.append({"-o", output, "-pthread", "-lm"});
  std::string message;
  int status = llvm::sys::ExecuteAndWait(driver, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  std::string said = message;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    said += summarize((*text)->getBuffer());
  llvm::sys::fs::remove(log);
  if (status != 0)
    return llvm::createStringError(driver + " cannot link " + output + ": " +
                                   said);
  return Error::success();
}
