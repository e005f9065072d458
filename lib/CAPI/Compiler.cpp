//===- Compiler.cpp - Models and executables, for C ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Compiler.h"
#include "Errors.h"
#include "dialects/RT/RT.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Import/ModelBuilder.h"
#include "tessera/Support/Share.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tessera;

namespace {
/// Options of a model; a sequence of 0 is as long as the config allows.
struct OwnedOptions {
  ModelOptions model;
  OwnedOptions() { model.seq = 0; }
};
} // namespace

static OwnedOptions &unwrap(TesseraModelOptions options) {
  return *static_cast<OwnedOptions *>(options.ptr);
}

TesseraModelOptions tesseraModelOptionsCreate(void) {
  return {new OwnedOptions};
}

void tesseraModelOptionsDestroy(TesseraModelOptions options) {
  delete static_cast<OwnedOptions *>(options.ptr);
}

void tesseraModelOptionsSetBatch(TesseraModelOptions options,
                                 int64_t sequences) {
  unwrap(options).model.batch = sequences;
}

void tesseraModelOptionsSetSequence(TesseraModelOptions options,
                                    int64_t tokens) {
  unwrap(options).model.seq = tokens;
}

void tesseraModelOptionsSetLayers(TesseraModelOptions options, int64_t layers) {
  unwrap(options).model.layers = layers;
}

void tesseraModelOptionsSetTrain(TesseraModelOptions options, bool trains) {
  unwrap(options).model.train = trains;
}

MlirLogicalResult tesseraModelOptionsSetElementType(TesseraModelOptions options,
                                                    MlirStringRef type,
                                                    MlirStringCallback onError,
                                                    void *userData) {
  constexpr std::pair<StringRef, ModelDType> kTypes[] = {
      {"f32", ModelDType::F32},
      {"bf16", ModelDType::BF16},
      {"f16", ModelDType::F16}};
  for (auto [name, value] : kTypes)
    if (unwrap(type) == name) {
      unwrap(options).model.dtype = value;
      return mlirLogicalResultSuccess();
    }
  ErrorSink{onError, userData}.report("expects f32, bf16 or f16 but got '" +
                                      unwrap(type) + "'");
  return mlirLogicalResultFailure();
}

MlirModule tesseraModelCreate(MlirContext context, MlirStringRef config,
                              TesseraModelOptions options,
                              MlirStringCallback onError, void *userData) {
  ErrorSink sink{onError, userData};
  auto fail = [&](llvm::Error error) {
    sink.report(std::move(error));
    return wrap(ModuleOp());
  };
  if (!context.ptr || !options.ptr)
    return fail(llvm::createStringError("expects a context and options but got "
                                        "null"));
  auto path = resolveShared("models", unwrap(config), "config");
  if (!path)
    return fail(path.takeError());
  auto read = readModelConfig(*path);
  if (!read)
    return fail(read.takeError());
  ModelOptions chosen = unwrap(options).model;
  if (chosen.seq == 0)
    chosen.seq = read->maxPositions;
  if (llvm::Error error = checkOptions(*read, chosen))
    return fail(std::move(error));
  return wrap(buildModel(*unwrap(context), *read, chosen).release());
}

/// Returns an error if the module is not the host's of phase `llvm`.
static llvm::Error checkPhase(ModuleOp module) {
  if (!module)
    return llvm::createStringError("expects a module but got null");
  for (Operation &op : *module.getBody())
    if (!llvm::isa_and_present<LLVM::LLVMDialect>(op.getDialect()))
      return llvm::createStringError(
          "expects a module of phase llvm, as compile-to{llvm} makes it, but "
          "got '" +
          op.getName().getStringRef() + "'");
  auto target = module->getAttrOfType<StringAttr>(rt::RTDialect::kTargetAttr);
  if (target)
    return llvm::createStringError(
        "expects a program for the host but got one for " + target.getValue() +
        ", which tessera compile links");
  return llvm::Error::success();
}

MlirLogicalResult tesseraWriteExecutable(MlirModule module, MlirStringRef cpu,
                                         MlirStringRef runtimeLibrary,
                                         MlirStringRef path,
                                         MlirStringCallback onError,
                                         void *userData) {
  ErrorSink sink{onError, userData};
  auto fail = [&](llvm::Error error) {
    sink.report(std::move(error));
    return mlirLogicalResultFailure();
  };
  ModuleOp taken = module.ptr ? unwrap(module) : ModuleOp();
  if (llvm::Error error = checkPhase(taken))
    return fail(std::move(error));
  auto library = findRuntimeLibrary(
      unwrap(runtimeLibrary), llvm::sys::path::parent_path(findOwnFile()));
  if (!library)
    return fail(library.takeError());
  ObjectOptions options;
  options.library = *library;
  if (!unwrap(cpu).empty())
    options.cpu = unwrap(cpu).str();
  TemporaryFile object;
  if (llvm::Error error = object.create("tessera", "o"))
    return fail(std::move(error));
  if (llvm::Error error = writeObject(taken, options, object.getPath()))
    return fail(std::move(error));
  if (llvm::Error error =
          linkExecutable(object.getPath(), *library, unwrap(path)))
    return fail(std::move(error));
  return mlirLogicalResultSuccess();
}
