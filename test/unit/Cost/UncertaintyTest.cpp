//===- UncertaintyTest.cpp - Uncertainty of a prediction ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Uncertainty.h"
#include "tessera/Cost/DeviceModel.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;

namespace {

TEST(Uncertainty, an_interval_has_its_share) {
  Doubt doubt(0.1);
  EXPECT_NEAR(doubt.halfWidth(0.8), 0.1, 1e-12);
  for (double share : {0.5, 0.8, 0.95}) {
    double half = doubt.halfWidth(share);
    EXPECT_NEAR(doubt.below(half) - doubt.below(-half), share, 1e-12);
  }
  Interval interval = intervalOf(8, doubt);
  EXPECT_NEAR(interval.low * interval.high, 64, 1e-9);
  EXPECT_NEAR(std::log(interval.high / 8), 0.1, 1e-12);
}

TEST(Uncertainty, what_is_new_widens) {
  double known = timeDoubt({}).halfWidth(0.8), last = known;
  Novelty novelty;
  for (bool Novelty::*field :
       {&Novelty::device, &Novelty::framework, &Novelty::precision,
        &Novelty::sequence, &Novelty::size, &Novelty::experts}) {
    novelty.*field = true;
    double width = timeDoubt(novelty).halfWidth(0.8);
    EXPECT_GT(width, last);
    last = width;
  }
}

TEST(Uncertainty, another_width_of_what_is_known) {
  EXPECT_NEAR(timeDoubt({}).halfWidth(0.8), kKnownTimeWidth, 1e-12);
  EXPECT_NEAR(timeDoubt({}, 0.2).halfWidth(0.8), 0.2, 1e-12);
  Novelty novelty;
  novelty.device = true;
  double squares = std::pow(timeDoubt(novelty).halfWidth(0.8), 2) -
                   kKnownTimeWidth * kKnownTimeWidth;
  EXPECT_NEAR(timeDoubt(novelty, 0.2).halfWidth(0.8), std::sqrt(0.04 + squares),
              1e-12);
}

TEST(Uncertainty, probability_of_fitting) {
  Doubt doubt = memoryDoubt({});
  EXPECT_NEAR(probabilityBelow(80e9, 80e9, doubt), 0.5, 1e-12);
  EXPECT_GT(probabilityBelow(60e9, 80e9, doubt), 0.95);
  EXPECT_LT(probabilityBelow(100e9, 80e9, doubt), 0.1);
}

TEST(Uncertainty, plans_that_are_alike_are_compared_more_surely) {
  ExecutedPlan a, near = a, far = a;
  near.microBatch = 2;
  far.tp = 8;
  far.pp = 4;
  EXPECT_EQ(probabilityFaster(a, 1, a, 2), 1);
  ExecutedPlan eager = a;
  eager.eager = true;
  EXPECT_LT(probabilityFaster(a, 1, eager, 1.1), 1);
  double alike = probabilityFaster(a, 1, near, 1.1);
  double unlike = probabilityFaster(a, 1, far, 1.1);
  EXPECT_GT(alike, unlike);
  EXPECT_GT(unlike, 0.5);
  EXPECT_NEAR(probabilityFaster(a, 1, far, 1.1) +
                  probabilityFaster(far, 1.1, a, 1),
              1, 1e-12);
  // A tie.
  EXPECT_NEAR(probabilityFaster(a, 1, far, 1), 0.5, 1e-12);
}

TEST(Uncertainty, guesses_and_frameworks_that_were_not_fitted_are_new) {
  ClusterSpec cluster;
  for (const NamedConstant &constant : deviceConstants())
    cluster.device.constants.push_back(
        {constant.name, {1, Provenance::Measured, ""}});
  ExecutedPlan plan;
  plan.precision = Precision::BF16;
  EXPECT_FALSE(noveltyOf(plan, plan, cluster, "nemo", true).framework);
  EXPECT_TRUE(noveltyOf(plan, plan, cluster, "tessera").framework);
  EXPECT_TRUE(noveltyOf(plan, plan, cluster).framework);
  EXPECT_FALSE(noveltyOf(plan, plan, cluster, "nemo", true).device);
  auto &constants = cluster.device.constants;
  constants[0].second.provenance = Provenance::Guess;
  EXPECT_EQ(noveltyOf(plan, plan, cluster, "nemo", true).features, 1u);
  for (auto &[name, quantity] : constants)
    quantity.provenance = Provenance::Guess;
  EXPECT_TRUE(noveltyOf(plan, plan, cluster, "nemo", true).device);
  plan.seq = 65536;
  EXPECT_TRUE(noveltyOf(plan, plan, cluster, "nemo", true).sequence);
}

} // namespace
