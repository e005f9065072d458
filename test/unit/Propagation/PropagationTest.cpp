//===- PropagationTest.cpp - The propagation algorithm --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblem.h"

using namespace tessera;

namespace {

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// Solves a matmul of 8x16 and 16x32 on x=4, y=2 for these seeds.
std::string solveMatmul(llvm::StringRef lhs, llvm::StringRef rhs,
                        llvm::StringRef result) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("8x16", lhs), b = p.tensor("16x32", rhs);
  unsigned c = p.tensor("8x32", result);
  p.op("ik,kj->ij", {a, b}, {c});
  return p.solve();
}

TEST(Propagation, matmul_every_single_seed) {
  EXPECT_EQ(solveMatmul("[{x}, {}]", "", ""), "[{x}, {}] [{}, {}] [{x}, {}]");
  EXPECT_EQ(solveMatmul("[{}, {x}]", "", ""), "[{}, {x}] [{x}, {}] [{}, {}]");
  EXPECT_EQ(solveMatmul("", "[{x}, {}]", ""), "[{}, {x}] [{x}, {}] [{}, {}]");
  EXPECT_EQ(solveMatmul("", "[{}, {x}]", ""), "[{}, {}] [{}, {x}] [{}, {x}]");
  EXPECT_EQ(solveMatmul("", "", "[{x}, {}]"), "[{x}, {}] [{}, {}] [{x}, {}]");
  EXPECT_EQ(solveMatmul("", "", "[{}, {x}]"), "[{}, {}] [{}, {x}] [{}, {x}]");
}

TEST(Propagation, matmul_two_seeds) {
  EXPECT_EQ(solveMatmul("[{x}, {}]", "[{}, {y}]", ""),
            "[{x}, {}] [{}, {y}] [{x}, {y}]");
  EXPECT_EQ(solveMatmul("[{x}, {y}]", "", ""),
            "[{x}, {y}] [{y}, {}] [{x}, {}]");
  EXPECT_EQ(solveMatmul("[{x}, {y}]", "[{y}, {}]", "[{x}, {y}]"),
            "[{x}, {y}] [{y}, {}] [{x}, {y}]");
  EXPECT_EQ(solveMatmul("[{}, {x, y}]", "", ""),
            "[{}, {x, y}] [{x, y}, {}] [{}, {}]");
}

TEST(Propagation, longer_list_extends_shorter) {
  EXPECT_EQ(solveMatmul("[{x, ?}, {?}]", "", "[{x, y}, {}]"),
            "[{x, y}, {}] [{}, {}] [{x, y}, {}]");
  // A closed dimension gets no more axes.
  EXPECT_EQ(solveMatmul("[{x}, {}]", "", "[{x, y}, {}]"),
            "[{x}, {}] [{}, {}] [{x, y}, {}]");
}

/// x contracts k and shards the result's j: the rhs can have only one of them.
std::string solveReduceOrGather(int64_t inner) {
  TestProblem p("x=4");
  std::string k = std::to_string(inner);
  unsigned a = p.tensor("8x" + k, "[{}, {x}]"), b = p.tensor(k + "x32");
  unsigned c = p.tensor("8x32", "[{}, {x}]");
  p.op("ik,kj->ij", {a, b}, {c});
  return p.solve();
}

TEST(Propagation, axis_of_a_reduction_is_used) {
  // Gathering 8x16 costs less than a reduce-scatter of 8x32.
  EXPECT_EQ(solveReduceOrGather(16), "[{}, {x}] [{}, {x}] [{}, {x}]");
  // Gathering 8x64 costs more.
  EXPECT_EQ(solveReduceOrGather(64), "[{}, {x}] [{x}, {}] [{}, {x}]");
}

TEST(Propagation, replicated_factor_passes_nothing) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("8x16", "[{x}, {y}]"), b = p.tensor("8x16");
  p.op("iK->iK", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {y}] [{x}, {}]");
}

TEST(Propagation, explicitly_replicated_axes_stay_out) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("8x16", "[{x}, {y}]");
  unsigned b = p.tensor("8x16", "[{?}, {?}] replicated{y}");
  p.op("ij->ij", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {y}] [{x}, {}]");
}

TEST(Propagation, size_one_is_not_sharded) {
  TestProblem p("x=4");
  unsigned a = p.tensor("1x16", "[{x}, {}]"), b = p.tensor("1x16");
  p.op("ij->ij", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {}] [{}, {}]");
}

TEST(Propagation, uneven_sizes_pass) {
  TestProblem p("x=8");
  unsigned a = p.tensor("17x4", "[{x}, {}]"), b = p.tensor("17x4");
  p.op("ij->ij", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {}] [{x}, {}]");
}

//===----------------------------------------------------------------------===//
// Dimensions of several factors
//===----------------------------------------------------------------------===//

TEST(Propagation, merge_of_two_dimensions) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("4x8", "[{x}, {y}]"), b = p.tensor("32");
  p.op("ij->(ij)", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {y}] [{x, y}]");
}

TEST(Propagation, minor_factor_alone_cannot_be_merged) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("4x8", "[{}, {y}]"), b = p.tensor("32");
  p.op("ij->(ij)", {a}, {b});
  EXPECT_EQ(p.solve(), "[{}, {y}] [{}]");
}

TEST(Propagation, split_into_sub_axes_and_back) {
  TestProblem p("a=4");
  unsigned t0 = p.tensor("8", "[{a}]"), t1 = p.tensor("2x4"),
           t2 = p.tensor("8");
  p.op("(ij)->ij", {t0}, {t1});
  p.op("ij->(ij)", {t1}, {t2});
  EXPECT_EQ(p.solve(), "[{a}] [{a:(1)2}, {a:(2)2}] [{a}]");
}

TEST(Propagation, uneven_heads_stay_whole_heads) {
  // 12 heads of 64 on 8 devices: the head dimension is padded, not the flat
  // size.
  TestProblem p("x=8");
  unsigned a = p.tensor("768", "[{x}]"), b = p.tensor("12x64");
  p.op("(hd)->hd", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}] [{x}, {}]");
}

TEST(Propagation, inner_factor_takes_an_exact_part) {
  // 6 = 2 x 3 on the inner factor of 4: only the sub-axis of 2 fits.
  TestProblem p("x=2,y=6");
  unsigned a = p.tensor("2x4", "[{x}, {y}]"), b = p.tensor("8");
  p.op("ij->(ij)", {a}, {b});
  EXPECT_EQ(p.solve(), "[{x}, {y}] [{x, y:(1)2}]");
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

TEST(Propagation, equal_costs_go_by_operand_order) {
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16", "[{x}]"), b = p.tensor("16", "[{y}]");
  unsigned c = p.tensor("16");
  p.op("i,i->i", {a, b}, {c});
  EXPECT_EQ(p.solve(), "[{x}] [{y}] [{x}]");
}

TEST(Propagation, dearer_side_of_one_factor_wins) {
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16", "[{x}]", 1), b = p.tensor("16", "[{y}]", 8);
  unsigned c = p.tensor("16");
  p.op("i,i->i", {a, b}, {c});
  EXPECT_EQ(p.solve(), "[{x}] [{y}] [{y}]");
}

TEST(Propagation, common_prefix_is_kept) {
  TestProblem p("x=4,y=2,z=2");
  unsigned a = p.tensor("16", "[{x, y}]"), b = p.tensor("16", "[{x, z}]");
  unsigned c = p.tensor("16", "[{?}] replicated{y,z}");
  p.op("i,i->i", {a, b}, {c});
  EXPECT_EQ(p.solve(), "[{x, y}] [{x, z}] [{x}]");
}

/// lhs [i|x, k] and rhs [k|x, j]: either the rhs is gathered, or the lhs moves
/// x to k and the result is reduced.
std::string solveTwoFactors(int64_t rows, int64_t inner, int64_t columns) {
  TestProblem p("x=4");
  auto shape = [](int64_t a, int64_t b) {
    return std::to_string(a) + "x" + std::to_string(b);
  };
  unsigned a = p.tensor(shape(rows, inner), "[{x}, {}]");
  unsigned b = p.tensor(shape(inner, columns), "[{x}, {}]");
  unsigned c = p.tensor(shape(rows, columns));
  p.op("ik,kj->ij", {a, b}, {c});
  return p.solve();
}

TEST(Propagation, cheaper_factor_wins) {
  // Gathering 16x8 costs less than reducing 64x8.
  EXPECT_EQ(solveTwoFactors(64, 16, 8), "[{x}, {}] [{x}, {}] [{x}, {}]");
  // Reducing 8x8 costs less than gathering 1024x8.
  EXPECT_EQ(solveTwoFactors(8, 1024, 8), "[{x}, {}] [{x}, {}] [{}, {}]");
}

TEST(Propagation, cost_is_asked_about_links) {
  // y has slow links, so tensors on y stay.
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16", "[{x}]"), b = p.tensor("16", "[{y}]");
  unsigned c = p.tensor("16");
  p.op("i,i->i", {a, b}, {c});
  p.problem.transferCost = [](CollectiveKind, double bytes,
                              llvm::ArrayRef<AxisRef> axes) {
    return bytes * (axes.front().axis == 1 ? 10 : 1);
  };
  EXPECT_EQ(p.solve(), "[{x}] [{y}] [{y}]");
  EXPECT_TRUE(p.solution.steps[c].front().byCost);
  EXPECT_LT(p.solution.steps[c].front().cost,
            p.solution.steps[c].front().otherCost);
}

TEST(Propagation, resolved_conflict_propagates) {
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16", "[{x}]"), b = p.tensor("16", "[{y}]");
  unsigned c = p.tensor("16"), d = p.tensor("16");
  p.op("i,i->i", {a, b}, {c});
  p.op("i->i", {c}, {d});
  EXPECT_EQ(p.solve(), "[{x}] [{y}] [{x}] [{x}]");
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(Propagation, lower_priority_number_goes_first) {
  for (bool swap : {false, true}) {
    TestProblem p("x=4,y=4");
    unsigned a = p.tensor("16", swap ? "[{x}p1]" : "[{x}]");
    unsigned b = p.tensor("16", swap ? "[{y}]" : "[{y}p1]");
    unsigned c = p.tensor("16");
    p.op("i,i->i", {a, b}, {c});
    EXPECT_EQ(p.solve(), swap ? "[{x}] [{y}] [{y}]" : "[{x}] [{y}] [{x}]");
  }
}

TEST(Propagation, later_seed_fills_what_is_left) {
  // The residual stream's x has priority 1; the weight's x then shards the
  // result.
  TestProblem p("x=4");
  unsigned r = p.tensor("8x16", "[{x}p1, {}]"), n = p.tensor("8x16");
  unsigned w = p.tensor("16x32", "[{}, {x}]"), q = p.tensor("8x32");
  p.op("ik->ik", {r}, {n});
  p.op("ik,kj->ij", {n, w}, {q});
  EXPECT_EQ(p.solve(), "[{x}, {}] [{x}, {}] [{}, {x}] [{}, {x}]");
}

/// The pinned axes of an op: `i{x} k{}`, one entry a factor.
std::string printPinned(const TestProblem &p, unsigned op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const AxisList &axes : p.solution.pinned[op])
    p.problem.mesh.print(os, axes);
  llvm::erase(text, '"');
  return text;
}

TEST(Propagation, earlier_priority_pins_factors) {
  // h.w sums over k on x; later the result's rows want x too.
  TestProblem p("x=4,y=2");
  unsigned h = p.tensor("8x16", "[{y}, {?}]");
  unsigned w = p.tensor("16x8", "[{x}, {}]");
  unsigned z = p.tensor("8x8"), r = p.tensor("8x8", "[{y, x}p1, {}]");
  p.op("ik,kj->ij", {h, w}, {z});
  p.op("ij->ij", {z}, {r});
  EXPECT_EQ(p.solve(), "[{y}, {x}] [{x}, {}] [{y, x}, {}] [{y, x}, {}]");
  EXPECT_EQ(printPinned(p, 0), "{y}{x}{}");
  EXPECT_EQ(printPinned(p, 1), "");
}

TEST(Propagation, axes_given_beforehand_stay) {
  // x shards the rows of operand and result. The op still runs with x on k,
  // also after a later round.
  TestProblem p("x=4,y=2");
  unsigned h = p.tensor("8x16", "[{x}, {}]"), w = p.tensor("16x8", "[{}, {y}]");
  unsigned r = p.tensor("8x8", "[{x, y}p1, {}]"), z = p.tensor("8x8");
  p.op("ik,kj->ij", {h, w}, {z});
  p.op("ij->ij", {z}, {r});
  AxisList x{p.problem.mesh.fullAxis(0)};
  p.problem.ops[0].pinned = {{}, x, {}};
  EXPECT_EQ(p.solve(), "[{x}, {}] [{}, {y}] [{x, y}, {}] [{x}, {y}]");
  EXPECT_EQ(printPinned(p, 0), "{}{x}{}");
  p.problem.ops[0].pinned.pop_back();
  EXPECT_EQ(llvm::toString(p.problem.check()),
            "op 0: expects axes for 3 factors but got 2");
}

TEST(Propagation, one_priority_pins_nothing) {
  TestProblem p("x=4");
  unsigned h = p.tensor("8x16", "[{x}, {}]"), w = p.tensor("16x8", "[{x}, {}]");
  unsigned z = p.tensor("8x8");
  p.op("ik,kj->ij", {h, w}, {z});
  p.solve();
  EXPECT_EQ(printPinned(p, 0), "");
}

TEST(Propagation, open_dimension_of_later_priority_waits) {
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16", "[{x}]"), b = p.tensor("16", "[{?}p1]");
  unsigned c = p.tensor("16"), d = p.tensor("16", "[{y}]");
  p.op("i->i", {a}, {b});
  p.op("i->i", {b}, {c});
  p.op("i->i", {d}, {c});
  // y reaches c first; x stops at b.
  EXPECT_EQ(p.solve(), "[{x}] [{x}] [{y}] [{y}]");
}

TEST(Propagation, pass_through_goes_before_contraction) {
  // The contraction would give z x on its j; the elementwise op gives it y.
  TestProblem p("x=4,y=4");
  unsigned a = p.tensor("16x16"), b = p.tensor("16x16", "[{}, {x}]");
  unsigned z = p.tensor("16x16"), e = p.tensor("16x16", "[{}, {y}]");
  p.op("ik,kj->ij", {a, b}, {z});
  p.op("ij->ij", {e}, {z});
  EXPECT_EQ(p.solve(), "[{}, {}] [{}, {x}] [{}, {y}] [{}, {y}]");
}

TEST(Propagation, broadcast_forward_before_backward) {
  // The bias gets x from its own seed's neighbor before the contraction's y.
  TestProblem p("x=4,y=4");
  unsigned bias = p.tensor("16"), wide = p.tensor("8x16");
  unsigned sum = p.tensor("8x16", "[{?}, {y}]");
  unsigned other = p.tensor("16", "[{x}]");
  p.op("ij->ij", {wide}, {sum});
  p.op("j->ij", {bias}, {wide});
  p.op("j->j", {other}, {bias});
  EXPECT_EQ(p.solve(), "[{x}] [{}, {y}] [{}, {y}] [{x}]");
}

//===----------------------------------------------------------------------===//
// Speed and explanations
//===----------------------------------------------------------------------===//

/// A chain of `length` identities with the seed at one end.
int64_t countVisits(unsigned length, bool backward) {
  TestProblem p("x=4");
  std::vector<unsigned> ids;
  for (unsigned i = 0; i <= length; ++i)
    ids.push_back(p.tensor("16", i == (backward ? length : 0) ? "[{x}]" : ""));
  for (unsigned i = 0; i < length; ++i)
    p.op("i->i", {ids[i]}, {ids[i + 1]});
  p.solve();
  for (const Sharding &s : p.solution.shardings)
    EXPECT_EQ(s.dims[0].axes.size(), 1u);
  return p.solution.numVisits;
}

TEST(Propagation, visits_are_linear) {
  for (bool backward : {false, true})
    EXPECT_LE(countVisits(4000, backward), 6 * 4000) << backward;
}

TEST(Propagation, steps_lead_back_to_the_seed) {
  TestProblem p("x=4");
  unsigned a = p.tensor("16", "[{x}]"), b = p.tensor("16"), c = p.tensor("16");
  p.op("i->i", {a}, {b});
  p.op("i->i", {b}, {c});
  p.solve();
  ASSERT_EQ(p.solution.steps[a].size(), 1u);
  EXPECT_EQ(p.solution.steps[a][0].op, PropagationStep::kSeed);
  ASSERT_EQ(p.solution.steps[c].size(), 1u);
  EXPECT_EQ(p.solution.steps[c][0].op, 1u);
  EXPECT_EQ(p.solution.steps[c][0].from, b);
  EXPECT_EQ(p.solution.steps[c][0].origin, a);
}

TEST(Propagation, every_axis_has_a_step) {
  TestProblem p("x=4,y=2");
  unsigned a = p.tensor("8x16", "[{x}, {y}]"), b = p.tensor("8x16");
  p.op("ij->ij", {a}, {b});
  p.solve();
  EXPECT_EQ(p.solution.steps[b].size(), 2u);
}

//===----------------------------------------------------------------------===//
// Random problems
//===----------------------------------------------------------------------===//

/// A generator with the same numbers on every machine.
struct Random {
  uint64_t state;
  unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
};

/// A sharding with some open dimensions and some axes or sub-axes on them; not
/// every one divides.
Sharding randomSeed(Random &random, const Mesh &mesh, unsigned rank) {
  Sharding seed = Sharding::replicatedOf(rank, /*open=*/true);
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
    DimSharding &dim = seed.dims[random.below(rank)];
    switch (random.below(5)) {
    case 0:
      dim.axes.push_back(mesh.fullAxis(axis));
      break;
    case 1:
      if (mesh.sizes[axis] > 2)
        dim.axes.push_back({axis, 1, 2});
      break;
    case 2:
      seed.replicated.push_back(mesh.fullAxis(axis));
      break;
    default:
      break;
    }
    if (random.below(4) == 0)
      dim.open = false;
    if (random.below(4) == 0)
      dim.priority = random.below(3);
  }
  return seed;
}

TEST(Propagation, random_problems_have_legal_solutions) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random{seed};
    TestProblem p("x=4,y=2,z=6");
    // Dimensions with the sizes of the letters i, j, k.
    const char *shapes[] = {"8x12", "12x3", "8x3", "96", "8", "12"};
    std::vector<unsigned> ids[6];
    for (unsigned kind = 0; kind < 6; ++kind)
      for (unsigned n = 0; n < 3; ++n) {
        unsigned id = p.tensor(shapes[kind]);
        PropagationProblem::Tensor &tensor = p.problem.tensors[id];
        if (random.below(2))
          tensor.seed = randomSeed(random, p.problem.mesh, tensor.shape.size());
        ids[kind].push_back(id);
      }
    auto any = [&](unsigned kind) { return ids[kind][random.below(3)]; };
    for (unsigned n = 0; n < 20; ++n)
      switch (random.below(7)) {
      case 0:
        p.op("ij,jk->ik", {any(0), any(1)}, {any(2)});
        break;
      case 1:
        p.op("ij->(ij)", {any(0)}, {any(3)});
        break;
      case 2:
        p.op("(ij)->ij", {any(3)}, {any(0)});
        break;
      case 3:
        p.op("ij,ij->ij", {any(0), any(0)}, {any(0)});
        break;
      case 4:
        p.op("i->ij", {any(4)}, {any(0)});
        break;
      case 5:
        p.op("ij->j", {any(0)}, {any(5)});
        break;
      default:
        p.op("iK->iK", {any(2)}, {any(2)});
        break;
      }
    std::string first = p.solve();
    EXPECT_EQ(p.solve(), first) << seed;
    // Every axis can be explained.
    for (size_t t = 0; t < p.problem.tensors.size(); ++t)
      for (size_t d = 0; d < p.problem.tensors[t].shape.size(); ++d) {
        int64_t explained = 1;
        for (const PropagationStep &step : p.solution.steps[t])
          if (step.dim == d)
            explained *= step.axis.size;
        EXPECT_EQ(explained, numShards(p.solution.shardings[t].dims[d].axes))
            << seed;
      }
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

TEST(PropagationProblem, check_refuses_a_stage_axis) {
  TestProblem p("s=2");
  p.problem.mesh.stageAxis = 0;
  p.tensor("4", "[{s}]");
  EXPECT_EQ(llvm::toString(p.problem.check()),
            "tensor 0: expects no stage axis but got \"s\"");
}

TEST(PropagationProblem, check_refuses_an_axis_twice) {
  TestProblem p("x=4");
  p.tensor("4x4", "[{x}, {x:(1)2}]");
  EXPECT_EQ(llvm::toString(p.problem.check()),
            "tensor 0: expects each axis once but got \"x\":(1)2 twice");
}

TEST(PropagationProblem, check_refuses_factors_of_another_size) {
  TestProblem p("x=4");
  unsigned a = p.tensor("8"), b = p.tensor("4");
  p.op("i->i", {a}, {b});
  EXPECT_EQ(llvm::toString(p.problem.check()),
            "op 0: expects factors of product 8 for "
            "dimension 0 but got 4");
}

TEST(PropagationProblem, verify_holds_seeds) {
  TestProblem p("x=4,y=2");
  p.tensor("8x8", "[{x}, {y, ?}]");
  p.solve();
  p.solution.shardings[0].dims[0].axes = p.parseAxes("y");
  p.solution.shardings[0].dims[1].axes = p.parseAxes("x");
  EXPECT_EQ(llvm::toString(verify(p.problem, p.solution)),
            "tensor 0: expects the seed's axes on dimension 0");
}

TEST(PropagationProblem, equal_rules_are_stored_once) {
  TestProblem p("x=4");
  unsigned a = p.tensor("8"), b = p.tensor("8"), c = p.tensor("8");
  p.op("i->i", {a}, {b});
  p.op("i->i", {b}, {c});
  EXPECT_EQ(p.problem.rules.size(), 1u);
}

} // namespace
