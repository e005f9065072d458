//===- Doctor.cpp - tessera doctor ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for each part that a compiled program or the compiler can use, and
// tries it: a library is loaded and asked for its version, a compiler driver
// links a program. Nothing missing is an error: the exit status is 0.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr OptionSpec kOptions[] = {
    {"--json", "", "print a JSON array of objects with the table's columns"},
};

constexpr CommandSpec kCommand = {
    "doctor",
    "[--json]",
    "Shows what this machine has to compile and run programs with.",
    "Each part is looked for and tried. Its status is\n"
    "  usable    it was found and works\n"
    "  broken    it was found, but does not work; the last column says why\n"
    "  missing   it was not found\n"
    "CUDA is looked for in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and PATH.\n"
    "The host target needs the linker only. The exit status is 0 in any case.",
    kOptions,
    "  tessera doctor\n  tessera doctor --json"};

enum class Status { Usable, Broken, Missing };

StringRef stringify(Status status) {
  constexpr StringRef kNames[] = {"usable", "broken", "missing"};
  return kNames[size_t(status)];
}

/// One row: a part and what was found of it.
struct Finding {
  Finding(StringRef part, StringRef purpose) : part(part), purpose(purpose) {}

  StringRef part;
  /// What Tessera would use it for.
  StringRef purpose;
  Status status = Status::Missing;
  std::string version;
  std::string path;
  /// Why it is not usable, or more about it.
  std::string note;
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Output {
  bool ok = false;
  /// stdout and stderr.
  std::string text;
};

/// Runs a program for at most 20 seconds.
Output execute(StringRef program, llvm::ArrayRef<StringRef> arguments) {
  Output output;
  llvm::SmallString<64> file;
  if (llvm::sys::fs::createTemporaryFile("tessera-doctor", "txt", file))
    return output;
  llvm::FileRemover remover(file);
  llvm::SmallVector<StringRef> argv = {program};
  argv.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(file),
                                          StringRef(file)};
  output.ok = llvm::sys::ExecuteAndWait(program, argv, std::nullopt, redirects,
                                        /*SecondsToWait=*/20) == 0;
  if (auto buffer = llvm::MemoryBuffer::getFile(file))
    output.text = (*buffer)->getBuffer().str();
  return output;
}

StringRef firstLine(StringRef text) {
  return text.ltrim().split('\n').first.trim();
}

/// The word that follows `marker`, without a comma or a bracket at its end.
std::string wordAfter(StringRef text, StringRef marker) {
  size_t at = text.find(marker);
  if (at == StringRef::npos)
    return "";
  return text.substr(at + marker.size())
      .take_until([](char c) { return c == ',' || c == ')' || isspace(c); })
      .str();
}

std::string findProgram(StringRef name,
                        llvm::ArrayRef<StringRef> folders = {}) {
  // First the given folders, then PATH.
  if (!folders.empty())
    if (auto path = llvm::sys::findProgramByName(name, folders))
      return *path;
  auto path = llvm::sys::findProgramByName(name);
  return path ? *path : "";
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// A loaded library, or why there is none. It is never closed: some of these
/// leave threads behind.
struct Library {
  void *handle = nullptr;
  std::string path;
  /// A file was found but could not be loaded.
  std::string error;

  template <typename Function> Function *symbol(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }
};

/// Tries each name, first as the loader finds it, then in each folder.
Library load(llvm::ArrayRef<StringRef> names,
             llvm::ArrayRef<std::string> folders = {}) {
  Library library;
  auto attempt = [&](const std::string &file) {
    library.handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library.handle) {
      link_map *map = nullptr;
      if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0)
        library.path = map->l_name;
      return true;
    }
    // The loader names the file that it misses: another one is a dependency.
    StringRef error = dlerror();
    if (library.error.empty() && !error.starts_with(file + ": cannot open"))
      library.error = error.str();
    return false;
  };
  for (StringRef name : names) {
    if (attempt(name.str()))
      return library;
    for (const std::string &folder : folders)
      if (attempt(folder + "/" + name.str()))
        return library;
  }
  return library;
}

/// 130100 as "13.1.0": `scale` is the weight of the major number.
std::string decodeVersion(int64_t number, int64_t scale) {
  return llvm::formatv("{0}.{1}.{2}", number / scale, number % scale / 100,
                       number % 100);
}

/// A row for a library whose `version` function was asked.
Finding describe(StringRef part, StringRef purpose, const Library &library,
                 llvm::function_ref<std::string()> version) {
  Finding finding(part, purpose);
  finding.path = library.path;
  if (!library.handle) {
    finding.status = library.error.empty() ? Status::Missing : Status::Broken;
    finding.note = library.error;
    return finding;
  }
  finding.version = version();
  finding.status = finding.version.empty() ? Status::Broken : Status::Usable;
  if (finding.version.empty())
    finding.note = "it does not tell its version";
  return finding;
}

//===----------------------------------------------------------------------===//
// The parts
//===----------------------------------------------------------------------===//

/// Roots of a CUDA installation, in the order of preference.
std::vector<std::string> cudaRoots() {
  std::vector<std::string> roots;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = getenv(variable); value && *value)
      roots.push_back(value);
  roots.push_back("/usr/local/cuda");
  return roots;
}

std::vector<std::string> cudaLibraryFolders() {
  std::vector<std::string> folders;
  for (const std::string &root : cudaRoots())
    folders.push_back(root + "/lib64");
  return folders;
}

/// Usable means what the compiler needs to make cubins: ptxas, and libdevice
/// for math functions.
Finding findToolkit() {
  Finding finding("CUDA toolkit", "GPU kernels");
  for (const std::string &root : cudaRoots()) {
    std::string ptxas = root + "/bin/ptxas";
    if (!llvm::sys::fs::can_execute(ptxas))
      continue;
    finding.path = root;
    Output output = execute(ptxas, {"--version"});
    finding.version = wordAfter(output.text, "release ");
    bool libdevice =
        llvm::sys::fs::exists(root + "/nvvm/libdevice/libdevice.10.bc");
    finding.status = output.ok && libdevice ? Status::Usable : Status::Broken;
    if (!output.ok)
      finding.note = "ptxas does not run";
    else if (!libdevice)
      finding.note = "nvvm/libdevice/libdevice.10.bc is not there";
    return finding;
  }
  if (std::string ptxas = findProgram("ptxas"); !ptxas.empty()) {
    finding.status = Status::Broken;
    finding.path = ptxas;
    finding.note = "ptxas is on PATH, but no toolkit: set CUDA_HOME";
  }
  return finding;
}

Finding findGPU() {
  Library library = load({"libcuda.so.1"});
  Finding finding =
      describe("NVIDIA GPU", "running GPU programs", library, [&] {
        auto *get = library.symbol<int(int *)>("cuDriverGetVersion");
        int version = 0;
        if (!get || get(&version) != 0)
          return std::string();
        return llvm::formatv("{0}.{1}", version / 1000, version % 1000 / 10)
            .str();
      });
  if (finding.status != Status::Usable)
    return finding;
  auto *init = library.symbol<int(unsigned)>("cuInit");
  auto *getCount = library.symbol<int(int *)>("cuDeviceGetCount");
  auto *getName = library.symbol<int(char *, int, int)>("cuDeviceGetName");
  int count = 0, status = -1;
  if (init && getCount && getName && (status = init(0)) == 0)
    status = getCount(&count);
  if (status != 0 || count == 0) {
    finding.status = Status::Broken;
    finding.note = llvm::formatv(
        "the driver is there, but no device (cuInit: error {0})", status);
    return finding;
  }
  char name[256] = "";
  getName(name, sizeof(name) - 1, 0);
  finding.note = llvm::formatv("{0} x {1}", count, name);
  return finding;
}

Finding findCublasLt() {
  Library library =
      load({"libcublasLt.so.13", "libcublasLt.so"}, cudaLibraryFolders());
  return describe("cuBLASLt", "matmul on GPUs", library, [&] {
    auto *get = library.symbol<size_t()>("cublasLtGetVersion");
    return get ? decodeVersion(get(), 10000) : "";
  });
}

Finding findCudnn() {
  Library library =
      load({"libcudnn.so.9", "libcudnn.so"}, cudaLibraryFolders());
  return describe("cuDNN", "attention on GPUs", library, [&] {
    auto *get = library.symbol<size_t()>("cudnnGetVersion");
    return get ? decodeVersion(get(), 10000) : "";
  });
}

Finding findNccl() {
  Library library = load({"libnccl.so.2", "libnccl.so"}, cudaLibraryFolders());
  return describe("NCCL", "collectives between GPUs", library, [&] {
    auto *get = library.symbol<int(int *)>("ncclGetVersion");
    int version = 0;
    return get && get(&version) == 0 ? decodeVersion(version, 10000) : "";
  });
}

Finding findMpi() {
  Finding finding("MPI", "starting ranks on several machines");
  std::string mpirun = findProgram("mpirun");
  if (mpirun.empty())
    return finding;
  finding.path = mpirun;
  Output output = execute(mpirun, {"--version"});
  // "mpirun (Open MPI) 4.1.4"
  finding.version = firstLine(output.text).rsplit(' ').second.str();
  finding.status = output.ok ? Status::Usable : Status::Broken;
  if (!output.ok)
    finding.note = "mpirun does not run";
  else if (findProgram("mpicc").empty())
    finding.note = "without mpicc: programs can be started, not built";
  return finding;
}

/// A compiler driver as linker, tried on an empty C program.
Finding findLinker() {
  Finding finding("linker", "linking compiled programs");
  for (StringRef name : {"clang-22", "clang", "cc", "gcc"}) {
    finding.path = findProgram(name);
    if (!finding.path.empty())
      break;
  }
  if (finding.path.empty())
    return finding;
  finding.version =
      firstLine(execute(finding.path, {"-dumpversion"}).text).str();

  llvm::SmallString<64> source, program;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("tessera-doctor", "c", descriptor,
                                         source) ||
      llvm::sys::fs::createTemporaryFile("tessera-doctor", "out", program)) {
    finding.status = Status::Broken;
    finding.note = "no temporary file can be made";
    return finding;
  }
  llvm::FileRemover removeSource(source), removeProgram(program);
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true)
      << "int main(void) { return 0; }\n";
  Output output = execute(finding.path, {source, "-o", program});
  finding.status =
      output.ok && execute(program, {}).ok ? Status::Usable : Status::Broken;
  if (finding.status == Status::Broken)
    finding.note =
        output.ok ? "what it links does not run" : firstLine(output.text).str();
  return finding;
}

/// The archive that every host program is linked with, beside this executable.
Finding findRuntime() {
  Finding finding("runtime", "running host programs");
  std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findRuntime));
  StringRef root =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(self));
  llvm::SmallString<128> path(root);
  llvm::sys::path::append(path, "lib", "libtessera_rt_host.a");
  if (llvm::sys::fs::exists(path)) {
    finding.status = Status::Usable;
    finding.path = path.str().str();
  }
  return finding;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void printTable(llvm::ArrayRef<Finding> findings, llvm::raw_ostream &os) {
  auto row = [&](StringRef part, StringRef status, StringRef version,
                 StringRef purpose, StringRef where) {
    std::string line = llvm::formatv("{0,-14} {1,-8} {2,-10} {3,-35} {4}", part,
                                     status, version, purpose, where);
    os << StringRef(line).rtrim() << "\n";
  };
  row("part", "status", "version", "used for", "where");
  for (const Finding &finding : findings) {
    std::string where = finding.path;
    if (!finding.note.empty())
      where += (where.empty() ? "" : ": ") + finding.note;
    row(finding.part, stringify(finding.status), finding.version,
        finding.purpose, where);
  }
}

void printJson(llvm::ArrayRef<Finding> findings, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const Finding &finding : findings)
      json.object([&] {
        json.attribute("part", finding.part);
        json.attribute("status", stringify(finding.status));
        json.attribute("version", llvm::json::fixUTF8(finding.version));
        json.attribute("used_for", finding.purpose);
        json.attribute("path", llvm::json::fixUTF8(finding.path));
        json.attribute("note", llvm::json::fixUTF8(finding.note));
      });
  });
  os << "\n";
}

} // namespace

int tessera::runDoctor(Arguments arguments) {
  if (wantsHelp(arguments))
    return showHelp(kCommand);
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  if (!parsed->positional.empty())
    return reportError(kCommand.name,
                       "unexpected '" + parsed->positional[0] + "'");

  const Finding findings[] = {findLinker(),  findRuntime(), findMpi(),
                              findToolkit(), findGPU(),     findCublasLt(),
                              findCudnn(),   findNccl()};
  llvm::Error error = writeOutput("", [&](llvm::raw_ostream &os) {
    parsed->has("--json") ? printJson(findings, os) : printTable(findings, os);
  });
  return error ? reportError(kCommand.name, std::move(error)) : 0;
}
