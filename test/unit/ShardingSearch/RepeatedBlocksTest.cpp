//===- RepeatedBlocksTest.cpp - Equal layers of a program -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/ShardingSearch/RepeatedBlocks.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// Programs with layers: y = matmul(x, w), z = gelu(y), x' = add(x, z).
class Program {
public:
  enum Kind {
    Embed,
    Matmul,
    Gelu,
    Add,
    Head,
    Loss,
    BackAdd,
    BackMatmul,
    Update
  };

  unsigned addTensor(int64_t width = 8) {
    ShardingProblem::Tensor &tensor = problem.tensors.emplace_back();
    tensor.shape = {16, width};
    tensor.seed = Sharding::replicatedOf(2, /*open=*/true);
    tensor.exactDims.resize(2);
    return problem.tensors.size() - 1;
  }
  unsigned addOp(unsigned kind, llvm::ArrayRef<unsigned> inputs,
                 int64_t width = 8) {
    ShardingProblem::Op &op = problem.ops.emplace_back();
    op.kind = kind * 100 + width;
    auto addPort = [&](unsigned tensor, bool isInput) {
      ShardingProblem::Port &port = op.ports.emplace_back();
      port.tensor = tensor;
      port.isInput = port.isOperand = isInput;
    };
    for (unsigned input : inputs)
      addPort(input, true);
    unsigned result = addTensor(width);
    addPort(result, false);
    return result;
  }

  /// A forward with `layers` layers; layer `unlike` has another kind of matmul.
  unsigned addForward(unsigned layers, unsigned unlike = ~0u) {
    unsigned x = addOp(Embed, {addTensor()});
    for (unsigned layer = 0; layer < layers; ++layer) {
      weights.push_back(addTensor());
      matmuls.push_back(problem.ops.size());
      unsigned y = addOp(Matmul, {x, weights.back()}, layer == unlike ? 9 : 8);
      inputs.push_back(x);
      x = addOp(Add, {x, addOp(Gelu, {y})});
    }
    return addOp(Head, {x});
  }
  void addBackward(unsigned loss) {
    unsigned dx = addOp(Loss, {loss});
    for (unsigned layer = weights.size(); layer-- > 0;) {
      backwards.push_back(problem.ops.size());
      gradients.push_back(addOp(BackMatmul, {dx, inputs[layer]}));
      dx = addOp(BackAdd, {dx, weights[layer]});
    }
    for (unsigned layer = 0; layer < weights.size(); ++layer) {
      updates.push_back(problem.ops.size());
      addOp(Update, {weights[layer], gradients[weights.size() - 1 - layer]});
    }
  }

  ShardingProblem problem;
  std::vector<unsigned> weights, inputs, gradients, matmuls, backwards, updates;
};

} // namespace

TEST(RepeatedBlocks, layers_of_a_forward) {
  Program program;
  program.addForward(8);
  RepeatedBlocks blocks = findRepeatedBlocks(program.problem);
  // A middle layer is equal to the one before it; the first and last are not.
  for (unsigned layer : {4, 5}) {
    unsigned op = program.matmuls[layer], before = program.matmuls[layer - 1];
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_NE(blocks.ops[op + i], op + i);
      EXPECT_EQ(blocks.ops[op + i], blocks.ops[before + i]);
      EXPECT_EQ(blocks.layers[op + i], blocks.layers[before + i] + 1);
    }
    EXPECT_EQ(blocks.tensors[program.weights[layer]],
              blocks.tensors[program.weights[layer - 1]]);
  }
  EXPECT_EQ(blocks.tensors[program.weights[0]], program.weights[0]);
  EXPECT_EQ(blocks.tensors[program.weights[7]], program.weights[7]);
  EXPECT_EQ(blocks.ops[0], 0u);
  EXPECT_EQ(blocks.ops.back(), blocks.ops.size() - 1);
  EXPECT_EQ(blocks.layers[0], 0);
  EXPECT_GE(blocks.layers.back(), blocks.numLayers - 2);
}

TEST(RepeatedBlocks, the_backward_has_the_layers_in_reverse) {
  Program program;
  program.addBackward(program.addForward(10));
  RepeatedBlocks blocks = findRepeatedBlocks(program.problem);
  for (unsigned layer : {4, 5}) {
    unsigned forward = program.matmuls[layer],
             backward = program.backwards[9 - layer],
             update = program.updates[layer];
    EXPECT_NE(blocks.ops[backward], backward);
    EXPECT_NE(blocks.ops[update], update);
    EXPECT_EQ(blocks.ops[backward], blocks.ops[program.backwards[8 - layer]]);
    EXPECT_EQ(blocks.layers[forward], blocks.layers[update]);
    EXPECT_NEAR(blocks.layers[forward], blocks.layers[backward], 1);
    EXPECT_EQ(blocks.layers[backward],
              blocks.layers[program.backwards[8 - layer]] - 1);
  }
}

TEST(RepeatedBlocks, what_differs_is_not_tied) {
  // Another width in the middle separates the layers on both sides.
  Program wide;
  wide.addForward(12, /*unlike=*/6);
  RepeatedBlocks blocks = findRepeatedBlocks(wide.problem);
  EXPECT_EQ(blocks.ops[wide.matmuls[6]], wide.matmuls[6]);
  EXPECT_NE(blocks.ops[wide.matmuls[3]], wide.matmuls[3]);
  // A seed has the same effect.
  Program seeded;
  seeded.addForward(12);
  seeded.problem.tensors[seeded.weights[6]].seed.dims[0].open = false;
  blocks = findRepeatedBlocks(seeded.problem);
  EXPECT_EQ(blocks.ops[seeded.matmuls[6]], seeded.matmuls[6]);
  EXPECT_EQ(blocks.tensors[seeded.weights[6]], seeded.weights[6]);
  EXPECT_NE(blocks.ops[seeded.matmuls[3]], seeded.matmuls[3]);
}

TEST(RepeatedBlocks, repetitions_within_a_layer_are_none) {
  // Two consecutive equal matmuls in each layer.
  Program program;
  unsigned x = program.addOp(Program::Embed, {program.addTensor()});
  std::vector<unsigned> first;
  for (unsigned layer = 0; layer < 9; ++layer) {
    first.push_back(program.problem.ops.size());
    unsigned a = program.addOp(Program::Matmul, {x, program.addTensor()});
    unsigned b = program.addOp(Program::Matmul, {x, program.addTensor()});
    x = program.addOp(Program::Add, {a, b});
  }
  RepeatedBlocks blocks = findRepeatedBlocks(program.problem);
  EXPECT_NE(blocks.ops[first[4]], first[4]);
  EXPECT_NE(blocks.ops[first[4]], blocks.ops[first[4] + 1]);
  EXPECT_EQ(blocks.ops[first[0] + 1], first[0] + 1);
}

TEST(RepeatedBlocks, a_program_without_any) {
  Program program;
  program.addForward(1);
  RepeatedBlocks blocks = findRepeatedBlocks(program.problem);
  for (unsigned op = 0; op < blocks.ops.size(); ++op) {
    EXPECT_EQ(blocks.ops[op], op);
    EXPECT_EQ(blocks.layers[op], 0);
  }
  EXPECT_EQ(blocks.numLayers, 0);
}
