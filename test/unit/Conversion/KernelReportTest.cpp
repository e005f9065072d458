//===- KernelReportTest.cpp - Resources of GPU kernels --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/GPUImages.h"
#include "tessera/Report/Document.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

TEST(KernelReport, is_a_document_with_a_row_and_a_field_for_each_kernel) {
  std::vector<KernelUse> uses{{"add", 90, 32, 0, 0, 0},
                              {"norm", 90, 255, 16, 8, 4}};
  std::string text;
  llvm::raw_string_ostream os(text);
  printKernelUseAsJson(uses, "tessera compile g.mlir", os);
  Document document = llvm::cantFail(parseDocument(text, "kernels.json"));
  EXPECT_EQ(document.command, "tessera compile g.mlir");
  ASSERT_EQ(document.sections.size(), 1u);
  EXPECT_EQ(document.sections[0].kind, "kernels");
  EXPECT_EQ(document.sections[0].findings[0].second,
            "Kernels have at most 255 registers per thread; 1 of 2 spill");
  const Table *table = document.sections[0].find("kernels");
  ASSERT_TRUE(table && table->getRows().size() == 2);
  std::vector<std::string> texts;
  for (const Table::Cell &cell : table->getRows()[1])
    texts.push_back(cell.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"norm", "sm_90", "255", "16", "8", "4"}));
  const llvm::json::Array *kernels = document.fields.getArray("kernels");
  ASSERT_TRUE(kernels && kernels->size() == 2);
  const llvm::json::Object &norm = *(*kernels)[1].getAsObject();
  EXPECT_EQ(norm.getString("kernel"), "norm");
  EXPECT_EQ(norm.getInteger("arch"), 90);
  EXPECT_EQ(norm.getInteger("registers"), 255);
  EXPECT_EQ(norm.getInteger("stack"), 16);
  EXPECT_EQ(norm.getInteger("spill_stores"), 8);
  EXPECT_EQ(norm.getInteger("spill_loads"), 4);
}

} // namespace
