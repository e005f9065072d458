//===- SampleTable.cpp - Samples of ops that need attributes --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Samples.h"

using namespace tessera::claims;

using Strings = std::vector<std::string>;

static std::string tensor(const std::string &shape,
                          const std::string &element = "f32") {
  return "tensor<" + shape + (shape.empty() ? "" : "x") + element + ">";
}

//===----------------------------------------------------------------------===//
// nn
//===----------------------------------------------------------------------===//

static void addEinsums(Strings &all) {
  auto add = [&](const char *spec, Strings shapes, Strings elements) {
    Strings operands = {tensor(shapes[0], elements[0]),
                        tensor(shapes[1], elements[1])};
    if (elements[0] == "f8E4M3FN")
      operands.insert(operands.end(), 2, "tensor<f32>");
    all.push_back(getText("nn.einsum", operands,
                          {tensor(shapes[2], elements[2])},
                          std::string("spec = \"") + spec + "\""));
  };
  for (const char *type : {"f32", "bf16", "i8", "i32", "i1"})
    add("ik,kj->ij", {"2x3", "3x2", "2x2"}, {type, type, type});
  add("bik,bjk->bji", {"2x2x3", "2x3x3", "2x3x2"}, {"bf16", "bf16", "f32"});
  add("ik,kj->ij", {"2x3", "3x2", "2x2"}, {"f8E4M3FN", "f8E4M3FN", "f32"});
  all.push_back(getText("nn.quantize", {tensor("2x3"), "tensor<f32>"},
                        {tensor("2x3", "f8E4M3FN"), "tensor<f32>"}));
}

static void addConvolutions(Strings &all) {
  std::string steps = "strides = array<i64: 2>, low = array<i64: 1>, high = "
                      "array<i64: 0>, dilation = array<i64: 1>, x_dilation = "
                      "array<i64: 1>";
  for (const char *type : {"f32", "bf16", "i32"})
    for (const char *reversed : {"", ", reversed"})
      all.push_back(getText("nn.convolution",
                            {tensor("2x2x3x4", type), tensor("2x2x3x2", type)},
                            {tensor("2x2x2x2", type)}, steps + reversed));
}

static void addAttention(Strings &all) {
  std::string q = tensor("2x3x2x2x2"), k = tensor("2x2x2x2"),
              v = tensor("2x2x2x3"), o = tensor("2x3x2x2x3"),
              stat = tensor("2x3x2x2");
  for (const char *causal : {"", "causal, ", "causal, window = 2 : i64, "}) {
    std::string properties =
        std::string(causal) +
        "scale = 5.0e-01 : f64, operandSegmentSizes = array<i32: ";
    all.push_back(getText("nn.attention", {q, k, v, tensor("2x3", "i32")}, {o},
                          properties + "1, 1, 1, 0, 0, 1, 0, 0>"));
    for (const Strings &results : {Strings{o}, Strings{o, stat}})
      all.push_back(getText("nn.attention", {q, k, v}, results,
                            properties + "1, 1, 1, 0, 0, 0, 0, 0>"));
    all.push_back(getText("nn.attention_backward", {o, q, k, v, o, stat},
                          {q, k, v},
                          properties + "1, 1, 1, 1, 1, 1, 0, 0, 0, 0>"));
    // Biases that differ along all dimensions, and along keys alone.
    for (auto [shape, dims] :
         {std::pair("2x3x2x2x2", "0, 1, 2, 3, 4"), {"2", "4"}}) {
      std::string bias = tensor(shape), pair = tensor("2x3x2x2x2");
      std::string capped = "bias_dims = array<i64: " + std::string(dims) +
                           ">, softcap = 1.0e+01 : f64, " + properties;
      all.push_back(getText("nn.attention", {q, k, v, bias, tensor("2x2")},
                            {o, pair}, capped + "1, 1, 1, 0, 0, 0, 1, 1>"));
      all.push_back(getText("nn.attention_backward",
                            {o, q, k, v, o, pair, bias}, {q, k, v},
                            capped + "1, 1, 1, 1, 1, 1, 0, 0, 0, 1>"));
    }
  }
  all.push_back(getText("nn.rope", {tensor("2x3x4")}, {tensor("2x3x4")},
                        "dim = 1 : i64, theta = 1.0e+04 : f64"));
  all.push_back(
      getText("nn.rope", {tensor("2x3x5")}, {tensor("2x3x5")},
              "dim = 1 : i64, theta = 1.0e+04 : f64, width = 2 : i64"));
}

static void addNorms(Strings &all) {
  std::string x = tensor("2x3x4"), row = tensor("4"), stat = tensor("2x3");
  std::string eps = "eps = 1.0e-05 : f64";
  all.push_back(getText("nn.layer_norm", {x, row, row}, {x}, eps));
  all.push_back(getText("nn.layer_norm", {x, row, row}, {x, stat, stat}, eps));
  all.push_back(getText("nn.rms_norm", {x, row}, {x}, eps));
  all.push_back(getText("nn.rms_norm", {x, row}, {x, stat}, eps));
  all.push_back(
      getText("nn.layer_norm_backward", {x, x, row, stat, stat}, {x}));
  all.push_back(getText("nn.rms_norm_backward", {x, x, row, stat}, {x}));
}

static void addLookups(Strings &all) {
  std::string x = tensor("2x3"), left = tensor("2"), ids = tensor("2", "i32");
  all.push_back(getText("nn.embedding", {tensor("4x3"), tensor("2x2", "i32")},
                        {tensor("2x2x3")}));
  all.push_back(getText("nn.embedding_backward",
                        {tensor("2x2x3"), tensor("2x2", "i32")},
                        {tensor("4x3")}));
  for (const char *kind : {"add", "set"})
    for (const char *type : {"f32", "bf16"})
      all.push_back(getText(
          "nn.scatter",
          {tensor("4x3", type), tensor("2x2", "i32"), tensor("2x2x3", type)},
          {tensor("4x3", type)},
          std::string("kind = #nn.scatter_kind<") + kind + ">"));
  for (const Strings &results : {Strings{left}, Strings{left, left, left}})
    all.push_back(getText("nn.cross_entropy", {x, ids}, results));
  all.push_back(
      getText("nn.cross_entropy_backward", {left, x, ids, left, left}, {x}));
  all.push_back(getText("nn.take_along_axis", {x, ids}, {left}));
  all.push_back(getText("nn.take_along_axis_backward", {left, ids}, {x}));
  std::string picked = tensor("2x2"), picks = tensor("2x2", "i32");
  all.push_back(getText("nn.take_along_axis", {x, picks}, {picked}));
  all.push_back(getText("nn.take_along_axis_backward", {picked, picks}, {x}));
}

static void addExperts(Strings &all) {
  std::string scores = tensor("2x3x4"), ids = tensor("2x3x2", "i32"),
              gates = tensor("2x3x2"), x = tensor("2x3x3");
  all.push_back(getText("nn.top_k", {scores}, {ids}, "k = 2 : i64"));
  all.push_back(getText("nn.top_k", {scores}, {ids}, "k = 2 : i64, smallest"));
  all.push_back(getText("nn.top_k", {scores}, {ids},
                        "k = 2 : i64, chosen_groups = 1 : i64, groups = 2 : "
                        "i64, group_score = #nn.group_score<sum2>"));
  all.push_back(getText("nn.expert_capacity", {ids, gates}, {ids},
                        "capacity = 1 : i64, experts = 2 : i64"));
  all.push_back(getText("nn.expert_rows", {x, ids}, {tensor("2x3x4x3")}));
  std::string up = tensor("4x3x2"), down = tensor("4x2x3"),
              stat = tensor("2x3x4x2"), rows = tensor("2x3x4x3");
  std::string properties =
      "activation = #nn.activation<silu>, experts = 4 : i64";
  for (const Strings &results : {Strings{x}, Strings{x, stat, stat}})
    all.push_back(getText("nn.experts", {x, ids, gates, up, up, down}, results,
                          properties));
  all.push_back(getText("nn.experts_backward",
                        {x, ids, gates, up, up, down, stat, stat},
                        {x, gates, stat, stat}, properties));
  all.push_back(getText("nn.experts_weight_gradient",
                        {rows, rows, ids, gates, stat, stat, stat, stat},
                        {up, up, down}, properties));
}

static void addShapes(Strings &all) {
  std::string x = tensor("2x3");
  for (const char *kind : {"sum", "max", "min"})
    for (const char *type : {"f32", "bf16", "f8E4M3FN", "i1", "i8", "i32"})
      for (const char *dims : {"0", "0, 1"})
        all.push_back(
            getText("nn.reduce", {tensor("2x3", type)},
                    {tensor(dims == std::string("0") ? "3" : "", type)},
                    std::string("kind = #nn.reduce_kind<") + kind +
                        ">, dims = array<i64: " + dims + ">"));
  for (const char *kind : {"max", "min"})
    for (const char *type : {"f32", "i8", "i1"})
      all.push_back(getText("nn.arg_reduce", {tensor("2x3", type)},
                            {tensor("2", type), tensor("2", "i32")},
                            std::string("kind = #nn.reduce_kind<") + kind +
                                ">, dim = 1 : i64"));
  all.push_back(getText("nn.softmax", {x}, {x}, "dim = 1 : i64"));
  all.push_back(getText("nn.broadcast", {tensor("3")}, {tensor("2x3x2")},
                        "dims = array<i64: 1>"));
  all.push_back(getText("nn.transpose", {x}, {tensor("3x2")},
                        "permutation = array<i64: 1, 0>"));
  all.push_back(getText("nn.iota", {}, {tensor("4", "i32")}));
  for (const char *value : {"0.0", "7.0"})
    all.push_back(getText("nn.mask_padding", {x}, {x},
                          std::string("dim = 1 : i64, size = 2 : i64, "
                                      "value = ") +
                              value + " : f32"));
}

static void addActivations(Strings &all) {
  std::string x = tensor("2x3");
  for (const char *kind : {"erf", "tanh"}) {
    std::string properties = std::string("kind = #nn.gelu_kind<") + kind + ">";
    all.push_back(getText("nn.gelu", {x}, {x}, properties));
    all.push_back(getText("nn.gelu_backward", {x, x}, {x}, properties));
  }
  all.push_back(getText("nn.silu", {x}, {x}));
  all.push_back(getText("nn.silu_backward", {x, x}, {x}));
}

static void addOptimizers(Strings &all) {
  std::string x = tensor("2x3"), one = tensor(""), skip = tensor("", "i1");
  std::string adamw = "beta1 = 9.0e-01 : f64, beta2 = 9.5e-01 : f64, "
                      "eps = 1.0e-08 : f64, weight_decay = 1.0e-01 : f64";
  Strings operands = {x, x, x, x, one, one, one, one};
  all.push_back(getText("nn.adamw", operands, {x, x, x}, adamw));
  operands.push_back(skip);
  all.push_back(getText("nn.adamw", operands, {x, x, x}, adamw));
  std::string sgd = "momentum = 9.0e-01 : f64, weight_decay = 1.0e-01 : f64, "
                    "operandSegmentSizes = array<i32: 1, 1, 1, 1, ";
  all.push_back(getText("nn.sgd", {x, x, one, one}, {x}, sgd + "0, 0>"));
  all.push_back(
      getText("nn.sgd", {x, x, one, one, x, skip}, {x, x}, sgd + "1, 1>"));
}

//===----------------------------------------------------------------------===//
// Upstream
//===----------------------------------------------------------------------===//

static void addTensorOps(Strings &all) {
  std::string x = tensor("2x3");
  all.push_back(getText("arith.constant", {}, {x},
                        "value = dense<1.5> : tensor<2x3xf32>"));
  for (const char *name : {"arith.index_cast", "arith.index_castui"}) {
    std::string i8 = tensor("2x3", "i8"), index = tensor("2x3", "index");
    all.push_back(getText(name, {i8}, {index}));
    all.push_back(getText(name, {index}, {i8}));
  }
  all.push_back(getText("tensor.empty", {}, {x}));
  all.push_back(getText("tensor.splat", {"f32"}, {x}));
  all.push_back(getText("tensor.cast", {x}, {x}));
  all.push_back(getText("tensor.expand_shape", {tensor("6x2")},
                        {tensor("2x3x2")},
                        "reassociation = [[0, 1], [2]], "
                        "static_output_shape = array<i64: 2, 3, 2>"));
  all.push_back(getText("tensor.collapse_shape", {tensor("2x3x2")},
                        {tensor("6x2")}, "reassociation = [[0, 1], [2]]"));
  all.push_back(getText(
      "tensor.extract_slice", {tensor("4x3")}, {tensor("2x3")},
      "static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 2, 3>, "
      "static_strides = array<i64: 1, 1>, "
      "operandSegmentSizes = array<i32: 1, 0, 0, 0>"));
  all.push_back(getText(
      "tensor.insert_slice", {tensor("2x3"), tensor("4x3")}, {tensor("4x3")},
      "static_offsets = array<i64: 1, 0>, static_sizes = array<i64: 2, 3>, "
      "static_strides = array<i64: 1, 1>, "
      "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>"));
  all.push_back(getText("tensor.concat", {tensor("2x3"), tensor("2x2")},
                        {tensor("2x5")}, "dim = 1 : i64"));
  all.push_back("func.func @f(%a0: tensor<2x3xf32>) -> tensor<2x5xf32> {\n"
                "  %c = arith.constant dense<0.0> : tensor<2x2xf32>\n"
                "  %r = tensor.concat dim(1) %a0, %c : (tensor<2x3xf32>, "
                "tensor<2x2xf32>) -> tensor<2x5xf32>\n"
                "  return %r : tensor<2x5xf32>\n}\n");
  all.push_back("dist.mesh @mesh [\"x\"=2]\n"
                "func.func @f(%a0: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
                "  %r = dist.constraint %a0 <@mesh, [{\"x\"}, {}]> : "
                "tensor<2x3xf32>\n  return %r : tensor<2x3xf32>\n}\n");
}

static void addLinalgOps(Strings &all) {
  auto add = [&](const std::string &text) { all.push_back(text); };
  // p log(q * q), which is linear in p, as a map and as a reduction.
  for (bool reduces : {false, true}) {
    std::string out = reduces ? "tensor<f32>" : "tensor<3xf32>";
    add("func.func @f(%a0: tensor<3xf32>, %a1: tensor<3xf32>, %a2: " + out +
        ") -> " + out +
        " {\n  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
        "affine_map<(i) -> (i)>, affine_map<(i) -> (" +
        (reduces ? "" : "i") + ")>], iterator_types = [\"" +
        (reduces ? "reduction" : "parallel") +
        "\"]} ins(%a0, %a1 : tensor<3xf32>, tensor<3xf32>) outs(%a2 : " + out +
        ") {\n  ^bb0(%p: f32, %q: f32, %o: f32):\n"
        "    %q2 = arith.mulf %q, %q : f32\n    %l = math.log %q2 : f32\n"
        "    %m = arith.mulf %p, %l : f32\n    %s = arith.addf %o, %m : f32\n"
        "    linalg.yield " +
        (reduces ? "%s" : "%m") + " : f32\n  } -> " + out +
        "\n  return %r : " + out + "\n}\n");
  }
  for (const char *op : {"maxsi", "minsi", "maxui", "minui", "addi", "xori",
                         "ori", "andi", "muli"})
    for (const char *type : {"i1", "i8"})
      add("func.func @f(%a0: tensor<2x3x" + std::string(type) +
          ">, %a1: tensor<2x" + type + ">) -> tensor<2x" + type +
          "> {\n  %r = linalg.reduce { arith." + op +
          " } ins(%a0 : tensor<2x3x" + type + ">) outs(%a1 : tensor<2x" + type +
          ">) dimensions = [1]\n  return %r : tensor<2x" + type + ">\n}\n");
  add("func.func @f(%a0: tensor<2xf32>, %a1: tensor<2x3xf32>) -> "
      "tensor<2x3xf32> {\n"
      "  %r = linalg.broadcast ins(%a0 : tensor<2xf32>) outs(%a1 : "
      "tensor<2x3xf32>) dimensions = [1]\n  return %r : tensor<2x3xf32>\n}\n");
  add("func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>) -> "
      "tensor<3x2xf32> {\n"
      "  %r = linalg.transpose ins(%a0 : tensor<2x3xf32>) outs(%a1 : "
      "tensor<3x2xf32>) permutation = [1, 0]\n"
      "  return %r : tensor<3x2xf32>\n}\n");
  add("func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>, "
      "%a2: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
      "  %r = linalg.map { arith.mulf } ins(%a0, %a1 : tensor<2x3xf32>, "
      "tensor<2x3xf32>) outs(%a2 : tensor<2x3xf32>)\n"
      "  return %r : tensor<2x3xf32>\n}\n");
  for (const char *kind : {"add", "mul", "exp"}) {
    bool isUnary = kind == std::string("exp");
    add(std::string("func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>") +
        (isUnary ? "" : ", %a2: tensor<2x3xf32>") +
        ") -> tensor<2x3xf32> {\n  %r = linalg.elementwise kind="
        "#linalg.elementwise_kind<" +
        kind + "> ins(%a0" + (isUnary ? "" : ", %a1") + " : tensor<2x3xf32>" +
        (isUnary ? "" : ", tensor<2x3xf32>") + ") outs(%a" +
        (isUnary ? "1" : "2") +
        " : tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "  return %r : tensor<2x3xf32>\n}\n");
  }
  add("func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>, "
      "%a2: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
      "  %r = linalg.contract indexing_maps = "
      "[affine_map<(i, j, k) -> (i, k)>, "
      "affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] "
      "ins(%a0, %a1 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%a2 : "
      "tensor<2x2xf32>) -> tensor<2x2xf32>\n"
      "  return %r : tensor<2x2xf32>\n}\n");
}

/// Pads with a constant and with positions, elements by position, and softmax.
static void addPads(Strings &all) {
  std::string position = "    %n = arith.index_cast %j : index to i32\n"
                         "    %v = arith.sitofp %n : i32 to f32\n";
  for (const char *value : {"0.0", "1.5", ""}) {
    std::string made =
        *value ? "    %v = arith.constant " + std::string(value) + " : f32\n"
               : position;
    all.push_back("func.func @f(%a0: tensor<2x3xf32>) -> tensor<5x3xf32> {\n"
                  "  %r = tensor.pad %a0 low[1, 0] high[2, 0] {\n"
                  "  ^bb0(%i: index, %j: index):\n" +
                  made +
                  "    tensor.yield %v : f32\n"
                  "  } : tensor<2x3xf32> to tensor<5x3xf32>\n"
                  "  return %r : tensor<5x3xf32>\n}\n");
  }
  all.push_back("func.func @f() -> tensor<2x3xf32> {\n"
                "  %r = tensor.generate {\n"
                "  ^bb0(%i: index, %j: index):\n" +
                position +
                "    tensor.yield %v : f32\n  } : tensor<2x3xf32>\n"
                "  return %r : tensor<2x3xf32>\n}\n");
  all.push_back("func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) -> "
                "tensor<2x3xf32> {\n"
                "  %r = linalg.softmax dimension(1) ins(%a0 : "
                "tensor<2x3xf32>) outs(%a1 : tensor<2x3xf32>) -> "
                "tensor<2x3xf32>\n  return %r : tensor<2x3xf32>\n}\n");
}

Strings tessera::claims::getSampleTable() {
  Strings all;
  addEinsums(all);
  addConvolutions(all);
  addAttention(all);
  addNorms(all);
  addLookups(all);
  addExperts(all);
  addShapes(all);
  addActivations(all);
  addOptimizers(all);
  addTensorOps(all);
  addLinalgOps(all);
  addPads(all);
  return all;
}
