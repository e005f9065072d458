//===- GPUImages.cpp - Compiles GPU kernels to machine code ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/GPUImages.h"
#include "DeviceProgram.h"
#include "Optimize.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace tessera;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// LLVM IR to PTX
//===----------------------------------------------------------------------===//

/// A version of PTX that supports all architectures and more than 4 KB of
/// parameters. It needs CUDA 12.8 or later.
static constexpr llvm::StringLiteral kFeatures = "+ptx87";

static Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(int arch) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "sm_" + std::to_string(arch), kFeatures, llvm::TargetOptions(),
      std::nullopt));
  machine->setOptLevel(llvm::CodeGenOptLevel::Aggressive);
  return machine;
}

/// Links the functions of libdevice that the module calls into it.
static Error linkLibdevice(llvm::Module &module, StringRef toolkit) {
  bool callsIt = llvm::any_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!callsIt)
    return Error::success();
  llvm::SmallString<128> path(toolkit);
  llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("expects libdevice at " + path + ": " +
                                   buffer.getError().message());
  auto library =
      llvm::parseBitcodeFile((*buffer)->getMemBufferRef(), module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(*library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !names.contains(value.getName());
        });
      });
  if (failed)
    return llvm::createStringError(path + " cannot be linked");
  return Error::success();
}

static Expected<std::string> makePTX(mlir::gpu::GPUModuleOp kernels, int arch,
                                     StringRef toolkit) {
  auto machine = createMachine(arch);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(kernels, context, "tessera_kernels");
  if (!code)
    return llvm::createStringError("the kernels do not translate to LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  if (Error error = linkLibdevice(*code, toolkit))
    return error;
  optimize(*code, **machine, 3);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager backend;
  if ((*machine)->addPassesToEmitFile(backend, os, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM cannot write PTX");
  backend.run(*code);
  return text.str().str();
}

//===----------------------------------------------------------------------===//
// PTX to cubins
//===----------------------------------------------------------------------===//

namespace {

/// A run of ptxas.
struct Assembly {
  int arch = 0;
  TemporaryFile input, output, log;
  ChildProcess process;
};

} // namespace

static Error start(Assembly &run, StringRef ptxas, StringRef ptx) {
  for (auto [file, suffix] :
       {std::pair(&run.input, "ptx"), std::pair(&run.output, "cubin"),
        std::pair(&run.log, "txt")})
    if (Error error = file->create("tessera-kernels", suffix))
      return error;
  StringRef input = run.input.getPath(), output = run.output.getPath();
  if (Error error = run.input.write(ptx))
    return error;
  std::string arch = "-arch=sm_" + std::to_string(run.arch);
  StringRef arguments[] = {arch, "-v", "-O3", "-o", output, input};
  return run.process.start(ptxas, arguments, run.log.getPath());
}

/// Returns the number before `unit` in a line, or 0 if there is none.
static int numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  int value = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, value);
  return value;
}

/// Parses the output of `ptxas -v`.
static void readLog(StringRef log, int arch, std::vector<KernelUse> &uses) {
  KernelUse use;
  size_t first = uses.size();
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function")) {
      use = KernelUse();
      use.arch = arch;
      use.name = line.split('\'').second.split('\'').first.str();
    } else if (line.contains("bytes stack frame")) {
      use.stack = numberBefore(line, "bytes stack frame");
      use.spillStores = numberBefore(line, "bytes spill stores");
      use.spillLoads = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ") && !use.name.empty()) {
      use.registers = numberBefore(line, "registers");
      uses.push_back(use);
      use.name.clear();
    }
  }
  // ptxas reports the last kernel first.
  std::reverse(uses.begin() + first, uses.end());
}

static Expected<DeviceImage> finish(Assembly &run,
                                    std::vector<KernelUse> &uses) {
  Error ended = run.process.wait();
  auto log = llvm::MemoryBuffer::getFile(run.log.getPath());
  StringRef text = log ? (*log)->getBuffer() : StringRef();
  if (ended) {
    std::string message = llvm::toString(std::move(ended));
    return llvm::createStringError(
        "ptxas refuses the kernels for sm_" + llvm::Twine(run.arch) + ": " +
        (text.empty() ? StringRef(message) : text.rtrim()));
  }
  readLog(text, run.arch, uses);
  auto cubin = llvm::MemoryBuffer::getFile(run.output.getPath());
  if (!cubin)
    return llvm::createStringError(run.output.getPath() + ": " +
                                   cubin.getError().message());
  return DeviceImage{run.arch, false, (*cubin)->getBuffer().str()};
}

/// Assembles all cubins; the runs of ptxas are concurrent.
static Expected<std::vector<DeviceImage>>
assemble(mlir::gpu::GPUModuleOp kernels, const ImageOptions &options,
         std::string &lowestPTX, std::vector<KernelUse> &uses) {
  std::string ptxas = options.toolkit + "/bin/ptxas";
  std::vector<Assembly> runs(options.archs.size());
  Error error = Error::success();
  for (auto [run, arch] : llvm::zip(runs, options.archs)) {
    run.arch = arch;
    auto ptx = makePTX(kernels, arch, options.toolkit);
    if (!ptx) {
      error = llvm::joinErrors(std::move(error), ptx.takeError());
      break;
    }
    if (lowestPTX.empty())
      lowestPTX = *ptx;
    if (Error failed = start(run, ptxas, *ptx)) {
      error = llvm::joinErrors(std::move(error), std::move(failed));
      break;
    }
  }
  std::vector<DeviceImage> images;
  for (Assembly &run : runs) {
    if (!run.process.isRunning())
      continue;
    auto image = finish(run, uses);
    if (image)
      images.push_back(std::move(*image));
    else
      error = llvm::joinErrors(std::move(error), image.takeError());
  }
  if (error)
    return error;
  return images;
}

Expected<std::vector<KernelUse>>
tessera::addDeviceImages(mlir::ModuleOp module, const ImageOptions &options) {
  std::vector<KernelUse> uses;
  std::vector<DeviceImage> images;
  for (auto kernels :
       llvm::make_early_inc_range(module.getOps<mlir::gpu::GPUModuleOp>())) {
    std::string ptx;
    auto made = assemble(kernels, options, ptx, uses);
    if (!made)
      return made.takeError();
    images = std::move(*made);
    if (options.ptx)
      images.push_back({options.archs.front(), true, ptx + '\0'});
    kernels.erase();
  }
  defineImages(module, images);
  return uses;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

Expected<std::string> tessera::findCUDAToolkit() {
  auto isToolkit = [](StringRef folder) {
    llvm::SmallString<128> ptxas(folder), library(folder);
    llvm::sys::path::append(ptxas, "bin", "ptxas");
    llvm::sys::path::append(library, "nvvm", "libdevice", "libdevice.10.bc");
    return llvm::sys::fs::can_execute(ptxas) && llvm::sys::fs::exists(library);
  };
  // A toolkit named by the user is the only candidate.
  for (const char *variable : {"TESSERA_CUDA_PATH", "CUDA_HOME"})
    if (const char *value = std::getenv(variable); value && *value) {
      if (isToolkit(value))
        return std::string(value);
      return llvm::createStringError(
          llvm::Twine(variable) +
          " expects the folder of a CUDA toolkit, with bin/ptxas and "
          "nvvm/libdevice/libdevice.10.bc, but got '" +
          value + "'");
    }
  if (isToolkit("/usr/local/cuda"))
    return std::string("/usr/local/cuda");
  if (auto ptxas = llvm::sys::findProgramByName("ptxas")) {
    StringRef folder =
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(*ptxas));
    if (isToolkit(folder))
      return folder.str();
  }
  return llvm::createStringError(
      "expects a CUDA toolkit, with bin/ptxas and "
      "nvvm/libdevice/libdevice.10.bc, but found none: not named by "
      "TESSERA_CUDA_PATH or CUDA_HOME, not in /usr/local/cuda, not by ptxas "
      "on PATH");
}

Expected<std::vector<int>> tessera::parseArchs(StringRef text) {
  std::vector<int> archs;
  llvm::SmallVector<StringRef> words;
  text.split(words, ',');
  for (StringRef word : words) {
    StringRef number = word;
    number.consume_front("sm_");
    int arch = 0;
    if (number.getAsInteger(10, arch) || arch < 80 ||
        llvm::is_contained(archs, arch))
      return llvm::createStringError(
          "--cuda-arch expects architectures from sm_80 on, each once, as "
          "80,90, but got '" +
          text + "'");
    archs.push_back(arch);
  }
  llvm::sort(archs);
  return archs;
}
