//===- Executable.cpp - From LLVM dialect to a linked program -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Executable.h"
#include "CompileUnits.h"
#include "KnownSymbols.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
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

/// Runs a C++ compiler driver found on PATH to create `output`.
static Error runDriver(llvm::ArrayRef<StringRef> arguments, StringRef output);

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
static Expected<ObjectBytes> merge(llvm::ArrayRef<ObjectBytes> objects) {
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
  llvm::SmallVector<StringRef> arguments = {"-r", "-nostdlib"};
  arguments.append(paths.begin() + 1, paths.end());
  if (Error error = runDriver(arguments, paths.front()))
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
  Expected<ObjectBytes> object =
      objects->size() == 1 ? std::move(objects->front()) : merge(*objects);
  if (!object)
    return object.takeError();
  StringRef bytes(object->data(), object->size());
  if (Error error = checkSymbols({bytes, path}, options.cpu))
    return error;
  return writeFile(path, bytes);
}

//===----------------------------------------------------------------------===//
// Link
//===----------------------------------------------------------------------===//

Expected<std::string> tessera::findRuntimeLibrary(StringRef given,
                                                  StringRef toolDirectory,
                                                  StringRef name) {
  StringRef root = llvm::sys::path::parent_path(toolDirectory);
  llvm::SmallVector<std::string, 3> paths;
  auto add = [&](StringRef above, StringRef folder) {
    llvm::SmallString<128> path(above);
    llvm::sys::path::append(path, folder, "lib" + name + ".a");
    paths.push_back(path.str().str());
  };
  if (!given.empty()) {
    paths.push_back(given.str());
  } else {
    // An installed tree; one whose libraries are in lib/ARCHITECTURE; a build
    // folder.
    add(root, "lib/tessera");
    add(llvm::sys::path::parent_path(root), "lib/tessera");
    add(root, "lib");
  }
  for (const std::string &path : paths)
    if (llvm::sys::fs::exists(path))
      return path;
  return llvm::createStringError("expects the runtime's library at " +
                                 paths.front() + "; see --runtime-library");
}

/// Returns the words and paths that the link line needs after the archive
/// LIB.a, in order, from the file LIB.link next to it. An archive without a
/// folder is next to it, too. Returns none if there is no such file.
static std::vector<std::string> wordsAfter(StringRef library) {
  llvm::SmallString<128> path(library);
  llvm::sys::path::replace_extension(path, "link");
  std::vector<std::string> words;
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return words;
  llvm::SmallVector<StringRef> parts;
  llvm::SplitString((*text)->getBuffer(), parts, " \n");
  llvm::SmallString<128> folder(library);
  llvm::sys::path::remove_filename(folder);
  for (StringRef part : parts) {
    bool isNear = part.ends_with(".a") && !part.contains('/');
    words.push_back((isNear ? folder + part : Twine(part)).str());
  }
  return words;
}

/// Summarizes a linker's log in one line: the undefined symbols, or the first
/// error.
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

static Error runDriver(llvm::ArrayRef<StringRef> arguments, StringRef output) {
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
  TemporaryFile log;
  if (Error error = log.create("tessera-link", "txt"))
    return error;
  llvm::SmallVector<StringRef> words(arguments);
  words.append({"-o", output});
  Error error = runProgram(driver, words, log.getPath());
  if (!error)
    return error;
  std::string said = llvm::toString(std::move(error));
  if (auto text = llvm::MemoryBuffer::getFile(log.getPath()))
    if (std::string summary = summarize((*text)->getBuffer()); !summary.empty())
      said = summary;
  return llvm::createStringError(driver + " cannot link " + output + ": " +
                                 said);
}

Error tessera::linkExecutable(StringRef object, StringRef library,
                              StringRef output) {
  std::vector<std::string> more = wordsAfter(library);
  llvm::SmallVector<StringRef> arguments = {object, library};
  arguments.append(more.begin(), more.end());
  arguments.append({"-pthread", "-lm"});
  return runDriver(arguments, output);
}
