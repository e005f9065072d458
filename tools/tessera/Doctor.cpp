//===- Doctor.cpp - tessera doctor ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for each component that the compiler or a compiled program can use, and
// tries it: loads a library and asks for its version, links a program with a
// compiler driver, compiles, links and runs a training step at each precision.
// Nothing missing is an error: the exit status is 0.
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "Options.h"

#include "runtime/cuda/Libraries.h"
#include "runtime/src/nodes/ZeroMq.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/TemporaryFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace tessera;
using namespace tessera::rt::cuda;
using llvm::StringRef;

namespace {

constexpr OptionSpec kOptions[] = {
    {"--json", "", "print a JSON array of objects with the table's columns"},
    {"--calibrate", "",
     "measure what ranks of host programs take on this machine,\n"
     "in 10 to 30 seconds, and write a file for --cluster of\n"
     "tessera compile"},
    {"--ranks", "N", "with --calibrate: so many ranks, 2 or more"},
    {"--quiet", "", "with --calibrate: no progress on stderr"},
    {"-o", "FILE", "with --calibrate: the file (default: stdout)",
     /*isOutput=*/true},
};

constexpr CommandSpec kCommand = {
    "doctor",
    "[--json]\n       tessera doctor --calibrate --ranks N [-o FILE]",
    "Shows what this machine has to compile and run programs with.",
    "Each part is looked for and tried. Its status is\n"
    "  usable    it was found and works\n"
    "  broken    it was found, but does not work; the last column says why\n"
    "  missing   it was not found\n"
    "CUDA's toolkit is looked for in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda "
    "and\n"
    "PATH; its libraries as programs do: in $TESSERA_CUDA_LIBRARY_PATH, by "
    "the\n"
    "loader, in the toolkit and in Python's nvidia packages. ZeroMQ is looked\n"
    "for in $TESSERA_ZMQ_LIBRARY_PATH, by the loader, in $CONDA_PREFIX and in\n"
    "Python's pyzmq.\n"
    "The host target needs the linker only. A small training step is "
    "compiled,\n"
    "linked and run at each precision, for $TESSERA_CPU or this processor.\n"
    "The exit status is 0 in any case.\n"
    "--calibrate runs small programs on N ranks at once, and measures links\n"
    "through shared memory, kernels, matmuls, and what a collective takes to\n"
    "start, in time of processors. If that differs too much from round to\n"
    "round, the error names the constant and the exit status is 1.",
    kOptions,
    "  tessera doctor\n  tessera doctor --json\n"
    "  tessera doctor --calibrate --ranks 4 -o host.json\n"
    "  tessera compile g.mlir --strategy auto --ranks 4 --cluster host.json"};

enum class Status { Usable, Broken, Missing };

StringRef stringify(Status status) {
  constexpr StringRef kNames[] = {"usable", "broken", "missing"};
  return kNames[size_t(status)];
}

/// One row of the report: a component and its state.
struct Finding {
  Finding(StringRef part, StringRef purpose) : part(part), purpose(purpose) {}

  StringRef part;
  /// The use that Tessera has for it.
  StringRef purpose;
  Status status = Status::Missing;
  std::string version;
  std::string path;
  /// The reason why it is not usable, or more details.
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

/// Makes a temporary file with a text.
llvm::Error fill(TemporaryFile &file, StringRef suffix, StringRef text) {
  if (llvm::Error error = file.create("tessera-doctor", suffix))
    return error;
  return file.write(text);
}

/// Runs a program for at most 20 seconds.
Output execute(StringRef program, llvm::ArrayRef<StringRef> arguments) {
  Output output;
  TemporaryFile file;
  if (llvm::Error error = file.create("tessera-doctor", "txt")) {
    output.text = llvm::toString(std::move(error));
    return output;
  }
  llvm::Error error =
      runProgram(program, arguments, file.getPath(), /*seconds=*/20);
  output.ok = !error;
  std::string message = llvm::toString(std::move(error));
  if (auto buffer = llvm::MemoryBuffer::getFile(file.getPath()))
    output.text = (*buffer)->getBuffer().str();
  if (output.text.empty())
    output.text = message; // The signal that ended it, or why it did not start.
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
  if (!folders.empty())
    if (auto path = llvm::sys::findProgramByName(name, folders))
      return *path;
  auto path = llvm::sys::findProgramByName(name);
  return path ? *path : "";
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// A row for a library that compiled programs load.
Finding describe(StringRef part, StringRef purpose, const Library &library) {
  Finding finding(part, purpose);
  finding.path = library.path;
  finding.version = library.version;
  finding.status = library.isUsable()                       ? Status::Usable
                   : library.isFound() || library.isRefused ? Status::Broken
                                                            : Status::Missing;
  finding.note = library.error;
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

/// Finds the CUDA toolkit. It is usable if the compiler can make cubins with
/// it: ptxas, and libdevice for math functions.
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
  Library library = findLibrary(LibraryKind::Driver);
  Finding finding = describe("NVIDIA GPU", "running GPU programs", library);
  if (finding.status == Status::Missing)
    finding.note.clear();
  if (finding.status != Status::Usable)
    return finding;
  int (*init)(unsigned) = nullptr, (*getCount)(int *) = nullptr;
  int (*getName)(char *, int, int) = nullptr;
  library.bind(init, "cuInit");
  library.bind(getCount, "cuDeviceGetCount");
  library.bind(getName, "cuDeviceGetName");
  int count = 0, status = -1;
  if (library.isUsable())
    status = init(0);
  if (status == 0)
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

Finding findMpi() {
  Finding finding("MPI", "starting ranks by mpirun");
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
Finding findDriver() {
  Finding finding("C++ compiler", "linking GPU programs");
  for (StringRef name : {"clang-22", "clang", "cc", "gcc"}) {
    finding.path = findProgram(name);
    if (!finding.path.empty())
      break;
  }
  if (finding.path.empty())
    return finding;
  finding.version =
      firstLine(execute(finding.path, {"-dumpversion"}).text).str();

  TemporaryFile source, program;
  llvm::Error error =
      llvm::joinErrors(fill(source, "c", "int main(void) { return 0; }\n"),
                       fill(program, "out", ""));
  if (error) {
    finding.status = Status::Broken;
    finding.note = llvm::toString(std::move(error));
    return finding;
  }
  Output output =
      execute(finding.path, {source.getPath(), "-o", program.getPath()});
  finding.status = output.ok && execute(program.getPath(), {}).ok
                       ? Status::Usable
                       : Status::Broken;
  if (finding.status == Status::Broken)
    finding.note =
        output.ok ? "what it links does not run" : firstLine(output.text).str();
  return finding;
}

/// The path of this executable.
std::string findSelf() {
  return llvm::sys::fs::getMainExecutable(nullptr,
                                          reinterpret_cast<void *>(&findSelf));
}

/// The linker in this tool, which host programs are linked with.
Finding findLinker() {
  Finding finding("linker", "linking host programs");
  auto library =
      findRuntimeLibrary("", llvm::sys::path::parent_path(findSelf()));
  if (library)
    finding.path = findLinkingTool(*library);
  else
    llvm::consumeError(library.takeError());
  if (finding.path.empty()) {
    finding.note = "a C++ compiler links them";
    return finding;
  }
  Output output = execute(finding.path, {"ld.lld", "--version"});
  finding.status = output.ok ? Status::Usable : Status::Broken;
  // "LLD 22.1.8 (compatible with GNU linkers)", after the maker's name.
  StringRef version = firstLine(output.text).split("LLD ").second;
  finding.version = version.split(' ').first.str();
  return finding;
}

/// Finds an archive that programs are linked with, in the lib folder next to
/// the folder of this executable.
Finding findRuntime(StringRef part, StringRef purpose, StringRef name) {
  Finding finding(part, purpose);
  std::string self = findSelf();
  auto path = findRuntimeLibrary("", llvm::sys::path::parent_path(self), name);
  if (path) {
    finding.status = Status::Usable;
    finding.path = *path;
  } else {
    llvm::consumeError(path.takeError());
  }
  return finding;
}

//===----------------------------------------------------------------------===//
// Programs of each precision
//===----------------------------------------------------------------------===//

/// A program with an embedding, a norm, a matmul and a loss: the ops whose
/// treatment depends on the precision.
constexpr StringRef kProgram = R"mlir(
func.func @forward(%table: tensor<32x16xf32> {nn.param = "table", nn.init = #nn.init<normal, 0.1>},
                   %w: tensor<16x16xf32> {nn.param = "w", nn.init = #nn.init<normal, 0.1>},
                   %gain: tensor<16xf32> {nn.param = "gain", nn.init = #nn.init<ones>},
                   %tokens: tensor<8xi32> {nn.input = "tokens", nn.vocab = 32, nn.dims = ["batch"]},
                   %labels: tensor<8xi32> {nn.input = "labels", nn.vocab = 32, nn.dims = ["batch"]})
    -> (tensor<f32> {nn.output = "loss"}) {
  %x = nn.embedding %table, %tokens : tensor<32x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
  %0 = nn.rms_norm %x, %gain eps 1.0e-5 : tensor<8x16xf32>, tensor<16xf32>
  %1 = nn.einsum "bd,df->bf" %0, %w : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %2 = nn.silu %1 : tensor<8x16xf32>
  %3 = nn.einsum "bf,vf->bv" %2, %table : tensor<8x16xf32>, tensor<32x16xf32> -> tensor<8x32xf32>
  %4 = nn.cross_entropy %3, %labels ignore -100 : tensor<8x32xf32>, tensor<8xi32> -> tensor<8xf32>
  %5 = nn.reduce <sum> %4 dims [0] : tensor<8xf32> -> tensor<f32>
  return %5 : tensor<f32>
}
)mlir";

/// Compiles, links and runs the training step of the program at `source`.
Finding tryPrecision(StringRef part, StringRef precision, StringRef source) {
  Finding finding(part, "a training step, compiled and run");
  finding.status = Status::Broken;
  TemporaryFile program;
  if (llvm::Error error = fill(program, "out", "")) {
    finding.note = llvm::toString(std::move(error));
    return finding;
  }
  Output output =
      execute(findSelf(), {"compile", source, "--precision", precision,
                           "--quiet", "-o", program.getPath()});
  if (output.ok)
    output = execute(program.getPath(), {"--random-data", "--quiet"});
  if (output.ok)
    finding.status = Status::Usable;
  else
    finding.note = firstLine(output.text).str();
  return finding;
}

/// A finding for each precision.
std::vector<Finding> tryPrecisions() {
  TemporaryFile source;
  llvm::Error error = fill(source, "mlir", kProgram);
  std::string note = error ? llvm::toString(std::move(error)) : "";
  std::vector<Finding> findings;
  constexpr std::pair<StringRef, StringRef> kParts[] = {
      {"f32 program", "f32"},
      {"bf16 program", "bf16"},
      {"f16 program", "f16"},
      {"fp8 program", "fp8"}};
  for (auto [part, precision] : kParts) {
    findings.push_back(tryPrecision(part, precision, source.getPath()));
    if (!note.empty())
      findings.back().note = note;
  }
  return findings;
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

/// Runs `tessera doctor --calibrate`.
llvm::Error calibrate(const ParsedOptions &parsed) {
  if (parsed.has("--json"))
    return llvm::createStringError("expects --json or --calibrate but got "
                                   "both");
  auto ranks = parsed.getInteger("--ranks", 2);
  if (!ranks)
    return ranks.takeError();
  if (!*ranks)
    return llvm::createStringError("--calibrate expects --ranks N");
  auto cluster = calibrateHost(findSelf(), **ranks, parsed.has("--quiet"));
  if (!cluster)
    return cluster.takeError();
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}", toJson(*cluster)) << "\n";
  });
}

} // namespace

const CommandSpec &tessera::getDoctorSpec() { return kCommand; }

int tessera::runDoctor(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  if (!parsed->positional.empty())
    return reportError(kCommand.name,
                       "unexpected '" + parsed->positional[0] + "'");
  if (parsed->has("--calibrate")) {
    llvm::Error error = calibrate(*parsed);
    return error ? reportError(kCommand.name, std::move(error)) : 0;
  }
  for (StringRef name : {"--ranks", "--quiet", "-o"})
    if (parsed->has(name))
      return reportError(kCommand.name, name + " expects --calibrate");

  std::vector<Finding> findings = {
      findLinker(),
      findDriver(),
      findRuntime("runtime", "running host programs", "tessera_rt_host"),
      findRuntime("CUDA runtime", "running GPU programs", "tessera_rt_cuda"),
      findMpi(),
      findToolkit(),
      findGPU(),
      describe("cuBLASLt", "matmul on GPUs",
               findLibrary(LibraryKind::CublasLt)),
      describe("cuDNN", "attention on GPUs", findLibrary(LibraryKind::Cudnn)),
      describe("NCCL", "collectives between GPUs",
               findLibrary(LibraryKind::Nccl)),
      describe("ZeroMQ", "runs on several nodes", rt::findZeroMq())};
  llvm::append_range(findings, tryPrecisions());
  llvm::Error error = writeOutput("", [&](llvm::raw_ostream &os) {
    parsed->has("--json") ? printJson(findings, os) : printTable(findings, os);
  });
  return error ? reportError(kCommand.name, std::move(error)) : 0;
}
