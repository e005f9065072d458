//===- Calibrate.cpp - tessera doctor --calibrate -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the constants of a host cluster. Each program below mostly does one
// kind of work. Its tensors are as large as those of layers of small models, so
// that they fit the processor's caches equally well. All ranks run the program
// at once, since they share caches and memory. The amount of work follows from
// the way the program is built; lib/Cost/HostCalibration fits the constants.
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "TimedRuns.h"

#include "tessera/Cost/HostCalibration.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <fstream>
#include <unistd.h>

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;

namespace {

/// Runs of each program, in turn with the others: `kRounds`, and up to
/// `kMostRounds` if the rounds differ too much. Each run has `kSteps` steps.
constexpr unsigned kRounds = 7, kMostRounds = 21, kSteps = 9;
/// Seconds that compiling a program may take.
constexpr unsigned kMostSeconds = 60;

/// A program whose body is the same line for a number of arguments.
struct Probe {
  HostTerm term;
  std::string text;
  std::array<double, kNumHostTerms> work{};

  double &of(HostTerm other) { return work[static_cast<size_t>(other)]; }
};

/// Returns a local function on a mesh of all ranks, with two axes if their
/// number is even. It has `count` pairs of arguments %x0, %y0 of the types
/// `left` and `right`; `line(i)` computes %ri of the type `result` from pair i.
std::string makeProgram(int64_t ranks, unsigned count, StringRef left,
                        StringRef right, StringRef result,
                        llvm::function_ref<std::string(unsigned)> line) {
  std::string arguments, results, body, values, types;
  for (unsigned i = 0; i < count; ++i) {
    StringRef comma = i ? ", " : "";
    for (auto [name, type] : {std::pair("x", left), std::pair("y", right)})
      arguments +=
          llvm::formatv("{0}%{1}{2}: {3} {{nn.param = \"{1}{2}\", nn.init = "
                        "#nn.init<normal, 1.0>}",
                        i || name[0] == 'y' ? ", " : "", name, i, type);
    results +=
        llvm::formatv("{0}{1} {{nn.output = \"r{2}\"}", comma, result, i);
    body += "  " + line(i) + "\n";
    values += llvm::formatv("{0}%r{1}", comma, i);
    types += (comma + result).str();
  }
  std::string mesh = ranks % 2 == 0
                         ? llvm::formatv("\"a\"={0}, \"b\"=2", ranks / 2).str()
                         : llvm::formatv("\"a\"={0}, \"b\"=1", ranks).str();
  return llvm::formatv("dist.mesh @mesh [{0}]\n"
                       "func.func @probe({1})\n    -> ({2}) attributes "
                       "{{dist.local} {{\n{3}  return {4} : {5}\n}\n",
                       mesh, arguments, results, body, values, types);
}

std::string tensor(llvm::ArrayRef<int64_t> sizes) {
  std::string type = "tensor<";
  for (int64_t size : sizes)
    type += std::to_string(size) + "x";
  return type + "f32>";
}

/// Makes `count` additions, each a kernel of `size` elements.
Probe makeAdditions(int64_t ranks, unsigned count, int64_t size) {
  std::string type = tensor({size});
  auto line = [&](unsigned i) {
    return llvm::formatv("%r{0} = arith.addf %x{0}, %y{0} : {1}", i, type)
        .str();
  };
  Probe probe{HostTerm::KernelByte,
              makeProgram(ranks, count, type, type, type, line),
              {}};
  probe.of(HostTerm::Kernel) = count;
  probe.of(HostTerm::KernelByte) = 12.0 * count * size;
  return probe;
}

/// Makes `count` kernels of tanh (used by GELU) and exp (softmax, SiLU).
Probe makeFunctions(int64_t ranks, unsigned count, int64_t size) {
  std::string type = tensor({size});
  auto line = [&](unsigned i) {
    return llvm::formatv("%s{0} = math.tanh %x{0} : {1}\n"
                         "  %t{0} = math.exp %y{0} : {1}\n"
                         "  %r{0} = arith.addf %s{0}, %t{0} : {1}",
                         i, type)
        .str();
  };
  Probe probe{HostTerm::Function,
              makeProgram(ranks, count, type, type, type, line),
              {}};
  probe.of(HostTerm::Kernel) = count;
  probe.of(HostTerm::KernelByte) = 12.0 * count * size;
  probe.of(HostTerm::Function) = 2.0 * count * size;
  return probe;
}

Probe makeMatmuls(HostTerm term, int64_t ranks, unsigned count, int64_t m,
                  int64_t n, int64_t k) {
  std::string left = tensor({m, k}), right = tensor({k, n});
  std::string result = tensor({m, n});
  auto line = [&](unsigned i) {
    return llvm::formatv(
               "%r{0} = nn.einsum \"mk,kn->mn\" %x{0}, %y{0} : {1}, {2} -> {3}",
               i, left, right, result)
        .str();
  };
  Probe probe{term, makeProgram(ranks, count, left, right, result, line), {}};
  probe.of(HostTerm::Kernel) = count;
  probe.of(HostTerm::MatmulByte) = 4.0 * count * (m * k + k * n + m * n);
  probe.of(HostTerm::MatmulFlop) = 2.0 * count * m * n * k;
  return probe;
}

/// The axes of all ranks, or of pairs of them.
std::string getAxes(bool isPairs) {
  return isPairs ? "{\"b\"}" : "{\"a\", \"b\"}";
}

/// All-reduces over all ranks.
Probe makeReductions(int64_t ranks, unsigned count, int64_t size) {
  std::string type = tensor({size});
  auto line = [&](unsigned i) {
    return llvm::formatv("%r{0} = dist.all_reduce <sum> %x{0} over <{1}> on "
                         "@mesh : {2} -> {2}",
                         i, getAxes(/*isPairs=*/false), type)
        .str();
  };
  Probe probe{HostTerm::LinkByte,
              makeProgram(ranks, count, type, type, type, line),
              {}};
  auto group = static_cast<double>(ranks);
  probe.of(HostTerm::Collective) = count;
  probe.of(HostTerm::Step) = 2 * count * (group - 1);
  probe.of(HostTerm::LinkByte) = 2 * count * (group - 1) / group * 4.0 * size;
  return probe;
}

/// Makes small matmuls, each followed by an all-reduce of its result: ranks
/// reach a collective from their work at slightly different times, and the
/// first one spins for the last before it sleeps.
Probe makeSteps(HostTerm term, int64_t ranks, bool isPairs, unsigned count,
                int64_t size) {
  std::string type = tensor({size, size});
  auto line = [&](unsigned i) {
    return llvm::formatv("%t{0} = nn.einsum \"mk,kn->mn\" %x{0}, %y{0} : {2}, "
                         "{2} -> {2}\n"
                         "  %r{0} = dist.all_reduce <sum> %t{0} over <{1}> on "
                         "@mesh : {2} -> {2}",
                         i, getAxes(isPairs), type)
        .str();
  };
  Probe probe{term, makeProgram(ranks, count, type, type, type, line), {}};
  double group = isPairs ? 2 : double(ranks);
  auto elements = static_cast<double>(size * size);
  probe.of(HostTerm::Kernel) = count;
  probe.of(HostTerm::MatmulByte) = 12 * count * elements;
  probe.of(HostTerm::MatmulFlop) = 2 * count * elements * double(size);
  probe.of(HostTerm::Collective) = count;
  probe.of(HostTerm::Step) = 2 * count * (group - 1);
  probe.of(HostTerm::LinkByte) = 2 * count * (group - 1) / group * 4 * elements;
  return probe;
}

/// Returns the programs. The first one is almost empty; its time is subtracted
/// from all others'.
std::vector<Probe> makeProbes(int64_t ranks) {
  std::vector<Probe> probes = {
      makeAdditions(ranks, 1, 16),
      makeMatmuls(HostTerm::Kernel, ranks, 128, 4, 4, 4),
      makeAdditions(ranks, 16, 1 << 14),
      makeFunctions(ranks, 16, 1 << 14),
      makeMatmuls(HostTerm::MatmulByte, ranks, 8, 16, 512, 512),
      makeMatmuls(HostTerm::MatmulFlop, ranks, 2, 256, 512, 512),
      makeSteps(HostTerm::Collective, ranks, ranks % 2 == 0, 48, 32),
      makeReductions(ranks, 4, 1 << 18)};
  if (ranks > 2 && ranks % 2 == 0)
    probes.push_back(makeSteps(HostTerm::Step, ranks, false, 48, 32));
  return probes;
}

std::string getProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (StringRef(line).starts_with("model name"))
      return StringRef(line).split(':').second.trim().str();
  return "processor";
}

/// Compiles a probe to an executable at `program`.
llvm::Error compileProbe(StringRef self, const Probe &probe,
                         StringRef program) {
  TemporaryFile source, output;
  if (llvm::Error error =
          llvm::joinErrors(source.create("tessera-probe", "mlir"),
                           output.create("tessera-probe", "txt")))
    return error;
  if (llvm::Error error = source.write(probe.text))
    return error;
  llvm::Error error = runProgram(
      self,
      {"compile", source.getPath(), "--overlap=off", "--quiet", "-o", program},
      output.getPath(), kMostSeconds);
  if (!error)
    return error;
  auto buffer = llvm::MemoryBuffer::getFile(output.getPath());
  StringRef line = buffer ? (*buffer)->getBuffer().split('\n').first : "";
  return prefixError(("compiling the program of " + getHostField(probe.term) +
                      ": " + line + ": ")
                         .str(),
                     std::move(error));
}

/// Runs each program once and appends the processor seconds of a step, per
/// rank.
llvm::Error runRound(llvm::ArrayRef<Probe> probes,
                     llvm::ArrayRef<TemporaryFile> programs, int64_t ranks,
                     std::vector<std::vector<double>> &seconds) {
  for (auto [probe, program, mine] :
       llvm::zip_equal(probes, programs, seconds)) {
    auto step = timeSteps(program.getPath(), ranks, kSteps);
    if (!step)
      return prefixError(
          ("running the program of " + getHostField(probe.term) + ": ").str(),
          step.takeError());
    mine.push_back(step->cpu / double(ranks));
  }
  return llvm::Error::success();
}

/// Runs the programs in rounds until these agree.
llvm::Expected<HostSeconds> measureTerms(llvm::ArrayRef<Probe> probes,
                                         llvm::ArrayRef<TemporaryFile> programs,
                                         int64_t ranks, bool quiet) {
  std::vector<std::vector<double>> seconds(probes.size());
  for (unsigned round = 1;; ++round) {
    if (llvm::Error error = runRound(probes, programs, ranks, seconds))
      return std::move(error);
    if (!quiet)
      llvm::errs() << "round " << round << ": " << probes.size()
                   << " programs on " << ranks << " ranks\n";
    if (round % kRounds != 0)
      continue;
    double empty = getMedian(seconds.front());
    std::vector<HostProbe> fitted;
    for (auto [probe, mine] :
         llvm::drop_begin(llvm::zip_equal(probes, seconds))) {
      HostProbe &added = fitted.emplace_back();
      added.term = probe.term;
      added.work = probe.work;
      for (double each : mine)
        added.seconds.push_back(each - empty);
    }
    auto terms = fitHost(fitted);
    if (terms || round == kMostRounds)
      return terms;
    llvm::consumeError(terms.takeError());
  }
}

} // namespace

llvm::Expected<ClusterSpec> tessera::calibrateHost(StringRef self,
                                                   int64_t ranks, bool quiet) {
  std::vector<Probe> probes = makeProbes(ranks);
  std::vector<TemporaryFile> programs(probes.size());
  for (auto [probe, program] : llvm::zip_equal(probes, programs)) {
    if (llvm::Error error = program.create("tessera-probe", "out"))
      return std::move(error);
    if (llvm::Error error = compileProbe(self, probe, program.getPath()))
      return std::move(error);
  }
  auto seconds = measureTerms(probes, programs, ranks, quiet);
  if (!seconds)
    return seconds.takeError();
  HostMachine machine;
  machine.name = getProcessorName();
  machine.ranks = ranks;
  machine.processors = countProcessors();
  machine.memoryBytes =
      double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE));
  return makeHostCluster(*seconds, machine);
}
