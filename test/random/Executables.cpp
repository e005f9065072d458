//===- Executables.cpp - Programs as executables --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executables.h"
#include "Judge.h"
#include "mlir/IR/Builders.h"
#include "tessera/Interpreter/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstring>

using namespace tessera;
using namespace tessera::test;
using llvm::StringRef;

static bool isTensor(const Program &program, int value) {
  return program.block.types[value].isTensor;
}

bool tessera::test::mayBeExecutable(const Program &program) {
  for (int argument : program.block.arguments)
    if (!isTensor(program, argument))
      return false;
  for (int result : program.block.results)
    if (!isTensor(program, result))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static mlir::Type toType(const Type &type, mlir::MLIRContext &context) {
  mlir::Builder b(&context);
  mlir::Type elem = type.elem == Elem::F64   ? mlir::Type(b.getF64Type())
                    : type.elem == Elem::F32 ? b.getF32Type()
                    : type.elem == Elem::F16 ? b.getF16Type()
                    : type.elem == Elem::BF16
                        ? mlir::Type(b.getBF16Type())
                        : b.getIntegerType(getInfo(type.elem).bits);
  return mlir::RankedTensorType::get(type.shape, elem);
}

static long double readHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  long double digits = bits & 1023;
  long double value = exponent == 31 ? (digits ? NAN : INFINITY)
                      : exponent     ? ldexpl(1024 + digits, exponent - 25)
                                     : ldexpl(digits, -24);
  return bits >> 15 ? -value : value;
}

template <typename T> static T readAs(const char *bytes) {
  T value;
  memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Reads a .npy file with the type in its header; false if the file is invalid.
static bool readNpy(const std::string &path, Data &data) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || (*buffer)->getBufferSize() < 10)
    return false;
  StringRef text = (*buffer)->getBuffer();
  size_t header = 10 + readAs<uint16_t>(text.data() + 8);
  std::string kind;
  size_t at = text.find("'descr': '");
  if (at == StringRef::npos)
    return false;
  kind = text.substr(at + 11, 2).str();
  size_t width = kind[1] - '0';
  text = text.drop_front(header);
  if (text.size() != width * data.numbers.size())
    return false;
  for (size_t i = 0; i < data.numbers.size(); ++i) {
    const char *from = text.data() + i * width;
    Number &to = data.numbers[i];
    if (kind == "f8")
      to = makeFloat(readAs<double>(from));
    else if (kind == "f4")
      to = makeFloat(readAs<float>(from));
    else if (kind == "f2")
      to = makeFloat(readHalf(readAs<uint16_t>(from)));
    else
      to.i = width == 8   ? readAs<int64_t>(from)
             : width == 4 ? readAs<int32_t>(from)
             : width == 2 ? readAs<int16_t>(from)
                          : readAs<int8_t>(from);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// The outcome of a command: success, or the first line of its output.
struct Ended {
  Outcome outcome = Outcome::Right;
  std::string said;
};

} // namespace

/// Runs a command for at most `seconds`. A command that fails counts as a
/// rejection.
static Ended execute(std::vector<std::string> words, const std::string &log,
                     unsigned seconds) {
  std::vector<StringRef> args(words.begin(), words.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string fault;
  int status = llvm::sys::ExecuteAndWait(words[0], args, /*Env=*/std::nullopt,
                                         redirects, seconds,
                                         /*MemoryLimit=*/0, &fault);
  if (status == 0)
    return {};
  // LLVM's message for a command that it ended.
  if (status < 0 && StringRef(fault).starts_with("Child timed out"))
    return {Outcome::Hang, llvm::sys::path::filename(words[0]).str() +
                               " was ended after " + std::to_string(seconds) +
                               " s"};
  auto buffer = llvm::MemoryBuffer::getFile(log);
  std::string said =
      buffer ? (*buffer)->getBuffer().split('\n').first.str() : "";
  if (status > 0)
    return {Outcome::Refused, said.empty() ? "silent" : said};
  return {Outcome::Crash, fault + (said.empty() ? "" : ": " + said)};
}

TrialResult tessera::test::runExecutable(const Program &program, uint64_t seed,
                                         const std::string &target,
                                         const std::string &folder,
                                         unsigned seconds,
                                         mlir::MLIRContext &context) {
  TrialResult result;
  // A missing folder leaves no program, and the compiler reports that.
  std::error_code error = llvm::sys::fs::create_directories(folder + "/data");
  llvm::raw_fd_ostream(folder + "/program.mlir", error) << program.print();
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  std::string tool = (llvm::sys::path::parent_path(self) + "/tessera").str();
  std::string executable = folder + "/program", log = folder + "/log";
  Ended compiled = execute({tool, "compile", folder + "/program.mlir",
                            "--target", target, "--quiet", "-o", executable},
                           log, seconds);
  result.outcome = compiled.outcome;
  result.message = compiled.said;
  if (result.outcome != Outcome::Right)
    return result;
  for (DataKind kind : {DataKind::Ordinary, DataKind::Extreme}) {
    std::vector<Data> data = drawData(program, seed, kind), expected, actual;
    Inputs inputs;
    for (size_t i = 0; i < data.size(); ++i) {
      inputs.push_back(&data[i]);
      llvm::consumeError(
          interp::writeNpy(folder + "/data/arg" + std::to_string(i) + ".npy",
                           *toTensor(data[i], toType(data[i].type, context))));
    }
    if (!program.block.evaluate(inputs, expected))
      continue;
    std::string ranks = std::to_string(program.numDevices);
    std::vector<std::string> run{executable,       "--inputs",
                                 folder + "/data", "--save-outputs",
                                 folder + "/out",  "--quiet"};
    // A rank names the rank that it waits for before the command is ended.
    if (target == "host")
      run.insert(run.end(), {"--ranks", ranks, "--threads", "1", "--timeout",
                             std::to_string((seconds + 1) / 2)});
    else
      run.push_back("--simulate-ranks=" + ranks);
    Ended ran = execute(run, log, seconds);
    result.outcome =
        ran.outcome == Outcome::Hang ? ran.outcome : Outcome::Crash;
    result.message = ran.said;
    if (ran.outcome != Outcome::Right)
      return result;
    for (size_t i = 0; i < expected.size(); ++i) {
      actual.emplace_back(expected[i].type);
      std::string file = folder + "/out/result" + std::to_string(i) + ".npy";
      if (!readNpy(file, actual.back())) {
        result.message = "no " + file;
        return result;
      }
    }
    Judgement judgement = judge(expected, actual, hasNotFinite(data));
    result.judged += judgement.judged;
    result.total += judgement.total;
    result.message = judgement.difference;
    result.outcome = Outcome::WrongButProven;
    if (!result.message.empty())
      return result;
  }
  result.outcome = Outcome::Right;
  return result;
}
