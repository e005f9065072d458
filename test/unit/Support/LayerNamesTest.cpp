//===- LayerNamesTest.cpp - The layer in a parameter's name ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/LayerNames.h"
#include "gtest/gtest.h"

using tessera::getLayerPrefix;

TEST(LayerNamesTest, prefixes) {
  EXPECT_EQ(getLayerPrefix("blocks.3.attn.wq"), "blocks.3");
  EXPECT_EQ(getLayerPrefix("model.layers.12.mlp.0.weight"), "model.layers.12");
  EXPECT_EQ(getLayerPrefix("h.0"), "h.0");
  EXPECT_EQ(getLayerPrefix("0.weight"), "0");
}

TEST(LayerNamesTest, no_layer) {
  EXPECT_EQ(getLayerPrefix(""), "");
  EXPECT_EQ(getLayerPrefix("embedding.weight"), "");
  EXPECT_EQ(getLayerPrefix("norm1.x3.3a"), "");
}
