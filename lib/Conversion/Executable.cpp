//===- Executable.cpp - From LLVM dialect to a linked program -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Executable.h"
#include "CompileUnits.h"
#include "KnownSymbols.h"
#include "Linker.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

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

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code failure;
  llvm::raw_fd_ostream os(path, failure);
  if (failure)
    return llvm::createStringError(path +
                                   ": cannot be written: " + failure.message());
  os << bytes;
  os.close();
  if (!os.has_error())
    return Error::success();
  failure = os.error();
  os.clear_error();
  return llvm::createStringError(path +
                                 ": cannot be written: " + failure.message());
}

/// Merges objects into one relocatable object.
static Expected<ObjectBytes> merge(llvm::ArrayRef<ObjectBytes> objects,
                                   StringRef library) {
  std::vector<std::unique_ptr<TemporaryFile>> files;
  std::vector<std::string> paths;
  auto addFile = [&]() -> Error {
    files.push_back(std::make_unique<TemporaryFile>());
    if (Error error = files.back()->create("tessera-unit", "o"))
      return error;
    paths.push_back(files.back()->getPath().str());
    return Error::success();
  };
  if (Error error = addFile())
    return error;
  for (const ObjectBytes &object : objects) {
    if (Error error = addFile())
      return error;
    if (Error error = writeFile(paths.back(), {object.data(), object.size()}))
      return error;
  }
  if (Error error = mergeObjects(llvm::ArrayRef(paths).drop_front(), library,
                                 paths.front()))
    return error;
  auto merged = llvm::MemoryBuffer::getFile(paths.front());
  if (!merged)
    return llvm::createStringError(
        paths.front() + ": cannot be read: " + merged.getError().message());
  StringRef bytes = (*merged)->getBuffer();
  return ObjectBytes(bytes.begin(), bytes.end());
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
  auto objects = compileUnits(std::move(code), options);
  if (!objects)
    return objects.takeError();
  Expected<ObjectBytes> object = objects->size() == 1
                                     ? std::move(objects->front())
                                     : merge(*objects, options.library);
  if (!object)
    return object.takeError();
  StringRef bytes(object->data(), object->size());
  if (Error error = checkSymbols({bytes, path}, options.cpu))
    return error;
  return writeFile(path, bytes);
}

//===----------------------------------------------------------------------===//
// Runtime
//===----------------------------------------------------------------------===//

Expected<std::string> tessera::findRuntimeLibrary(StringRef given,
                                                  StringRef toolDirectory,
                                                  StringRef name) {
  StringRef root = llvm::sys::path::parent_path(toolDirectory);
  llvm::SmallVector<std::string, 8> paths;
  auto add = [&](StringRef above, StringRef folder) {
    for (StringRef inner : {"link", "."}) {
      llvm::SmallString<128> path(above);
      llvm::sys::path::append(path, folder, inner, "lib" + name + ".a");
      llvm::sys::path::remove_dots(path);
      paths.push_back(path.str().str());
    }
  };
  if (!given.empty()) {
    paths.push_back(given.str());
  } else {
    // An installed tree; one whose libraries are in lib/ARCHITECTURE; a wheel,
    // of which `pip install --target` leaves out lib; a build folder.
    add(root, "lib/tessera");
    add(llvm::sys::path::parent_path(root), "lib/tessera");
    add(root, "libexec/tessera");
    add(root, "lib");
  }
  for (const std::string &path : paths)
    if (llvm::sys::fs::exists(path))
      return path;
  return llvm::createStringError("expects the runtime's library at " +
                                 (given.empty() ? paths[1] : paths.front()) +
                                 "; see --runtime-library");
}
