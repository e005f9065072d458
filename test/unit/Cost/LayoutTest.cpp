//===- LayoutTest.cpp - How a model is to be trained ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Layout.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace tessera::cost;

namespace {

/// The published layout of Llama-3-405B on 16,384 GPUs.
Layout llama405b() {
  Layout l;
  l.gpus = 16384;
  l.dp = 128;
  l.tp = 8;
  l.pp = 16;
  l.seq = 8192;
  l.microBatch = 1;
  l.globalBatch = 2048;
  l.schedule = "interleaved";
  l.vpp = 8;
  l.zero = 2;
  return l;
}

/// The only error of a layout.
std::string error(const Layout &layout) {
  std::vector<std::string> errors = layout.check();
  EXPECT_EQ(errors.size(), 1u);
  return errors.empty() ? "none" : errors.front();
}

TEST(Layout, sound) {
  Layout l = llama405b();
  EXPECT_TRUE(l.check().empty());
  EXPECT_TRUE(l.checkModel(128, 8, 53248, 128).empty());
  EXPECT_EQ(l.microBatches(), 16);
  EXPECT_EQ(l.tokens(), 16777216.0);
  EXPECT_EQ(l.summary(), "dp128 tp8 pp16 vpp8 mb1 zero2");
}

TEST(Layout, axes_multiply_to_the_gpus) {
  Layout l = llama405b();
  l.gpus = 8192;
  EXPECT_EQ(error(l), "gpus: expects dp x tp x pp x cp = 128 x 8 x 16 x 1 = "
                      "16384 but got 8192; change dp to 64");
}

TEST(Layout, batches_divide) {
  Layout l = llama405b();
  l.globalBatch = 2000;
  EXPECT_EQ(error(l), "global-batch: expects a multiple of dp x micro-batch = "
                      "128 x 1 but got 2000");
  l = llama405b();
  l.globalBatch = 1024;
  EXPECT_EQ(error(l), "schedule: interleaved expects a multiple of pp = 16 "
                      "micro-batches but got 8");
}

TEST(Layout, sizes) {
  Layout l = llama405b();
  l.tp = 0;
  EXPECT_EQ(error(l), "tp: expects 1 to 2^31 but got 0");
  l = llama405b();
  l.zero = 4;
  EXPECT_EQ(error(l), "zero: expects 0 to 3 but got 4");
}

TEST(Layout, schedules) {
  Layout l = llama405b();
  l.schedule = "interleave";
  EXPECT_EQ(error(l),
            "schedule: expects one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, "
            "zb-1p, zb-2p, zb-v, dualpipe but got 'interleave'; did you mean "
            "'interleaved'?");
  l = llama405b();
  l.schedule = "1f1b";
  EXPECT_EQ(error(l), "vpp: expects 1 with schedule 1f1b but got 8");
  l.schedule = "zb-v";
  l.vpp = 1;
  EXPECT_EQ(error(l), "schedule: zb-v expects at least 2 pp = 32 micro-batches "
                      "but got 16");
  l.globalBatch *= 2;
  EXPECT_TRUE(l.check().empty());
  EXPECT_EQ(l.chunks(), 32);
  l.stageLayers.assign(16, 8);
  EXPECT_EQ(error(l), "stage-layers: expects 32 numbers, one for each chunk of "
                      "a stage, but got 16");
}

TEST(Layout, model) {
  Layout l = llama405b();
  std::vector<std::string> errors = l.checkModel(25, 25, 6400, 48);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0], "tp: expects a divisor of the 25 heads but got 8");
  EXPECT_EQ(errors[1],
            "tp: expects a divisor or a multiple of the 25 KV heads but got 8");
  EXPECT_EQ(errors[2], "pp: expects chunks of stages of at most the 48 layers, "
                       "embedding and head but got 16 x 8");
  // 128 chunks: the first is the embedding, the last is the head.
  EXPECT_TRUE(llama405b().checkModel(128, 8, 53248, 126).empty());
}

TEST(Layout, json) {
  Layout l = llama405b();
  l.recompute = Recompute::Selective;
  l.offload = Offload::NVMe;
  l.stageLayers = {1, 2};
  llvm::json::Object object = toJson(l);
  llvm::Expected<Layout> again = layoutFromJson(object);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(llvm::json::Value(toJson(*again)), llvm::json::Value(toJson(l)));

  auto failure = [](llvm::StringRef text) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
    llvm::Expected<Layout> layout = layoutFromJson(*value->getAsObject());
    return layout ? "none" : llvm::toString(layout.takeError());
  };
  EXPECT_EQ(failure(R"({"tp": "8"})"), "tp: expects an integer but got \"8\"");
  EXPECT_EQ(failure(R"({"recompute": "some"})"),
            "recompute: expects one of none, selective, full, products but got "
            "\"some\"");
  EXPECT_EQ(failure(R"({"tpp": 8})"),
            "tpp: expects a known field; did you mean 'tp'?");
}

} // namespace
