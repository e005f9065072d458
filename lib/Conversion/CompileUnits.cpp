//===- CompileUnits.cpp - Compiles a program's units to objects -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileUnits.h"
#include "CodegenUnits.h"
#include "Optimize.h"
#include "tessera/Codegen/NarrowFloats.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace tessera;
using llvm::Expected;

/// A module with fewer instructions is compiled as one unit: the fixed cost of
/// a unit is about the time for this many instructions.
static constexpr unsigned kMinInstructions = 1000;

/// Maximum number of units of kernels. It does not depend on the number of
/// processors: an object is the same on every machine.
static constexpr unsigned kMaxHotUnits = 8;

Expected<std::unique_ptr<llvm::TargetMachine>>
tessera::createMachine(const ObjectOptions &options) {
  [[maybe_unused]] static const bool once =
      llvm::InitializeNativeTarget() ||
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

/// Compiles a module.
static Expected<ObjectBytes> compile(llvm::Module &code,
                                     const ObjectOptions &options) {
  auto machine = createMachine(options);
  if (!machine)
    return machine.takeError();
  // Kernels stream through rows, so they use the widest vectors.
  if ((*machine)->getMCSubtargetInfo()->checkFeatures("+avx512f"))
    for (llvm::Function &function : code)
      if (!function.isDeclaration())
        function.addFnAttr("prefer-vector-width", "512");
  llvm::PipelineTuningOptions tuning;
  bool vectorize = options.optLevel > 1;
  tuning.LoopVectorization = tuning.SLPVectorization = vectorize;
  tuning.LoopInterleaving = vectorize;
  // Vectorized loops are interleaved already. Unrolling them as well took 40 %
  // of the time of a small program, and kernels, 5 % of a training step, were
  // at most a tenth faster.
  tuning.LoopUnrolling = false;
  expandNarrowFloats(code, **machine);
  optimize(code, **machine, options.optLevel, tuning);
  // LLVM has made some operations between the remaining casts narrow again.
  expandNarrowFloats(code, **machine);

  ObjectBytes bytes;
  llvm::raw_svector_ostream buffer(bytes);
  llvm::legacy::PassManager backend;
  if ((*machine)->addPassesToEmitFile(backend, buffer, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("LLVM cannot write objects for this target");
  backend.run(code);
  return bytes;
}

/// Compiles a unit, in a context of its own.
static Expected<ObjectBytes> compile(const CodegenUnit &unit,
                                     ObjectOptions options) {
  llvm::LLVMContext context;
  auto code = llvm::parseBitcodeFile(
      {llvm::StringRef(unit.bitcode.data(), unit.bitcode.size()),
       "tessera_program"},
      context);
  if (!code)
    return code.takeError();
  if (!unit.isHot)
    options.optLevel = 0;
  return compile(**code, options);
}

Expected<std::vector<ObjectBytes>>
tessera::compileUnits(std::unique_ptr<llvm::Module> module,
                      const ObjectOptions &options) {
  std::vector<ObjectBytes> objects(1);
  if (module->getInstructionCount() < kMinInstructions) {
    Expected<ObjectBytes> object = compile(*module, options);
    if (!object)
      return object.takeError();
    objects.front() = std::move(*object);
    return objects;
  }
  std::vector<CodegenUnit> units = splitProgram(*module, kMaxHotUnits);
  module.reset();
  objects.resize(units.size());
  std::vector<std::string> errors(units.size());
  llvm::parallelFor(0, units.size(), [&](size_t i) {
    Expected<ObjectBytes> object = compile(units[i], options);
    if (object)
      objects[i] = std::move(*object);
    else
      errors[i] = llvm::toString(object.takeError());
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return objects;
}
