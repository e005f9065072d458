//===- CodegenUnitsTest.cpp - A program as separately compiled modules ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/CodegenUnits.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <map>

using namespace tessera;

static const char *const kProgram = R"(
@manifest = constant [2 x i8] c"{\00"
@digits = internal constant [2 x i64] [i64 1, i64 2]
@of_first = internal constant [2 x i64] [i64 3, i64 4]
@of_both = internal constant [2 x i64] [i64 5, i64 6]
@names = internal constant [1 x ptr] [ptr @listed]
declare i32 @launch(ptr, ptr)
define internal void @first(ptr %p) {
  %a = load i64, ptr @of_first
  %b = load i64, ptr @of_both
  %c = add i64 %a, %b
  store i64 %c, ptr %p
  ret void
}
define internal void @first_entry(ptr %p) {
  call void @first(ptr %p)
  ret void
}
define internal void @second(ptr %p) {
  %b = load i64, ptr @of_both
  store i64 %b, ptr %p
  ret void
}
define internal void @listed(ptr %p) {
  ret void
}
define i32 @step(ptr %p) noinline optnone {
  %a = call i32 @launch(ptr @first_entry, ptr @digits)
  %b = call i32 @launch(ptr @second, ptr @names)
  ret i32 %a
}
)";

namespace {

struct Split {
  std::vector<CodegenUnit> units;
  /// The unit that defines each symbol.
  std::map<std::string, unsigned> home;
};

Split split(unsigned maxHot) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(kProgram, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  Split result{splitProgram(*module, maxHot), {}};
  for (auto [number, unit] : llvm::enumerate(result.units)) {
    llvm::LLVMContext other;
    auto code = llvm::parseBitcodeFile(
        {llvm::StringRef(unit.bitcode.data(), unit.bitcode.size()), "unit"},
        other);
    EXPECT_TRUE(bool(code));
    EXPECT_FALSE(llvm::verifyModule(**code, &llvm::errs()));
    for (const llvm::GlobalValue &value : (*code)->global_values()) {
      std::string name = value.getName().str();
      if (name != "step" && name != "launch" && name != "manifest") {
        EXPECT_TRUE(value.hasHiddenVisibility()) << name;
      }
      if (value.isDeclaration())
        continue;
      EXPECT_TRUE(result.home.insert({name, number}).second)
          << name << " is defined twice";
    }
  }
  return result;
}

TEST(CodegenUnitsTest, the_step_and_shared_data_are_apart_from_kernels) {
  Split s = split(8);
  ASSERT_EQ(s.units.size(), 4u);
  EXPECT_FALSE(s.units[0].isHot);
  EXPECT_TRUE(s.units[1].isHot && s.units[2].isHot && s.units[3].isHot);
  for (const char *name : {"step", "manifest", "digits", "of_both", "names"})
    EXPECT_EQ(s.home.at(name), 0u) << name;
  EXPECT_EQ(s.home.size(), 10u);
}

TEST(CodegenUnitsTest, functions_that_refer_to_each_other_stay_together) {
  Split s = split(8);
  EXPECT_EQ(s.home["first"], s.home["first_entry"]);
  EXPECT_EQ(s.home["first"], s.home["of_first"]);
  EXPECT_NE(s.home["first"], s.home["second"]);
}

TEST(CodegenUnitsTest, the_limit_holds) {
  EXPECT_EQ(split(1).units.size(), 2u);
  EXPECT_EQ(split(2).units.size(), 3u);
}

TEST(CodegenUnitsTest, the_same_module_gives_the_same_units) {
  Split a = split(2), b = split(2);
  ASSERT_EQ(a.units.size(), b.units.size());
  for (auto [x, y] : llvm::zip(a.units, b.units))
    EXPECT_TRUE(x.bitcode == y.bitcode);
}

} // namespace
