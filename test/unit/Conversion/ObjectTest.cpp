//===- ObjectTest.cpp - Calls that an object may have ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Conversion/Executable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace tessera;

/// Returns writeObject's error for a module of LLVM dialect and a processor;
/// empty means that it wrote `content`.
static std::string write(llvm::StringRef text, llvm::StringRef cpu,
                         std::string *content = nullptr) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect>();
  registerExecutableTranslations(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "does not parse";
  llvm::SmallString<64> path;
  if (llvm::sys::fs::createTemporaryFile("tessera-object", "o", path))
    return "no temporary file";
  llvm::FileRemover remover(path);
  ObjectOptions options;
  options.cpu = cpu.str();
  options.optLevel = 1;
  llvm::Error error = writeObject(*module, options, path);
  if (error)
    return llvm::toString(std::move(error));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (content && buffer)
    *content = (*buffer)->getBuffer().str();
  return "";
}

TEST(object, callsOfTheRuntimeAndOfMathAreKnown) {
  EXPECT_EQ(write(R"mlir(
    llvm.func @tessera_rt_copy(!llvm.ptr) -> i32
    llvm.func @erff(f32) -> f32
    llvm.func @f(%p: !llvm.ptr, %x: f32) -> f32 {
      %0 = llvm.call @tessera_rt_copy(%p) : (!llvm.ptr) -> i32
      %1 = llvm.call @erff(%x) : (f32) -> f32
      llvm.return %1 : f32
    })mlir",
                  "x86-64"),
            "");
}

TEST(object, otherCallsAreAnError) {
  EXPECT_EQ(write(R"mlir(
    llvm.func @__truncsfbf2(f32) -> bf16
    llvm.func @helper()
    llvm.func @f(%x: f32) -> bf16 {
      llvm.call @helper() : () -> ()
      %0 = llvm.call @__truncsfbf2(%x) : (f32) -> bf16
      llvm.return %0 : bf16
    })mlir",
                  "x86-64-v2"),
            "expects generated code to call only the runtime, libc and libm, "
            "but the code for cpu 'x86-64-v2' calls __truncsfbf2, helper");
}

/// Checks each op on `type`, scalar and vector, for processors with and without
/// instructions for some of the ops.
static void expectNoCalls(std::string type) {
  std::string text;
  auto add = [&](std::string name, std::string from, std::string to,
                 std::string op) {
    text += "llvm.func @" + name + "(%a: " + from + ", %b: " + from + ") -> " +
            to + " {\n  %0 = " + op + "\n  llvm.return %0 : " + to + "\n}\n";
  };
  for (bool isVector : {false, true}) {
    auto shaped = [&](std::string element) {
      return isVector ? "vector<8x" + element + ">" : element;
    };
    std::string suffix = isVector ? "_vector" : "", t = shaped(type);
    for (std::string op : {"fadd", "fsub", "fmul", "fdiv"})
      add(op + suffix, t, t, "llvm." + op + " %a, %b : " + t);
    add("neg" + suffix, t, t, "llvm.fneg %a : " + t);
    add("less" + suffix, t, shaped("i1"), "llvm.fcmp \"olt\" %a, %b : " + t);
    for (std::string op : {"maximum", "minnum", "copysign"})
      add(op + suffix, t, t,
          "llvm.intr." + op + "(%a, %b) : (" + t + ", " + t + ") -> " + t);
    for (std::string op : {"sqrt", "floor", "exp", "fabs"})
      add(op + suffix, t, t, "llvm.intr." + op + "(%a) : (" + t + ") -> " + t);
    for (std::string other : {"f32", "f64"}) {
      add("from_" + other + suffix, shaped(other), t,
          "llvm.fptrunc %a : " + shaped(other) + " to " + t);
      add("to_" + other + suffix, t, shaped(other),
          "llvm.fpext %a : " + t + " to " + shaped(other));
    }
    for (std::string other : {"i1", "i8", "i32", "i64"})
      for (std::string sign : {"s", "u"}) {
        add(sign + "from_" + other + suffix, shaped(other), t,
            "llvm." + sign + "itofp %a : " + shaped(other) + " to " + t);
        add(sign + "to_" + other + suffix, t, shaped(other),
            "llvm.fpto" + sign + "i %a : " + t + " to " + shaped(other));
      }
  }
  for (const char *cpu : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                          "znver3", "znver4", "sapphirerapids"}) {
    std::string object;
    EXPECT_EQ(write(text, cpu, &object), "") << cpu;
    EXPECT_NE(object, "");
    // LLVM must not make a call for a type without instructions.
    EXPECT_EQ(object.find("fminf"), std::string::npos) << cpu;
  }
}

TEST(object, bf16IsExpanded) { expectNoCalls("bf16"); }
TEST(object, f16IsExpanded) { expectNoCalls("f16"); }
