//===- ArithTest.cpp - arith, math, tensor and linalg ops -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>

using namespace tessera::interp;

namespace {

using Elements = std::vector<double>;

/// An elementwise op on vectors of one type.
Elements apply(const std::string &op, const std::string &element,
               std::vector<Elements> operands) {
  std::string type =
      "tensor<" + std::to_string(operands[0].size()) + "x" + element + ">";
  std::vector<std::string> types(operands.size(), type);
  std::string text = op;
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i ? ", %a" : " %a") + std::to_string(i);
  TestProgram p(oneOp(text + " : " + type, types, type));
  return p.runOne(operands);
}

TEST(ArithTest, integers) {
  Elements a{7, -7, 7, -7}, c{2, 2, -2, -2};
  EXPECT_EQ(apply("arith.divsi", "i32", {a, c}), (Elements{3, -3, -3, 3}));
  EXPECT_EQ(apply("arith.ceildivsi", "i32", {a, c}), (Elements{4, -3, -3, 4}));
  EXPECT_EQ(apply("arith.floordivsi", "i32", {a, c}), (Elements{3, -4, -4, 3}));
  EXPECT_EQ(apply("arith.remsi", "i32", {a, c}), (Elements{1, -1, 1, -1}));
  EXPECT_EQ(apply("arith.divui", "i8", {{-1, 4}, {2, 3}}), (Elements{127, 1}));
  EXPECT_EQ(apply("arith.ceildivui", "i8", {{-1, 4}, {2, 3}}),
            (Elements{-128, 2}));
  EXPECT_EQ(apply("arith.remui", "i8", {{-1, 4}, {2, 3}}), (Elements{1, 1}));
  EXPECT_EQ(apply("arith.addi", "i8", {{127}, {1}}), (Elements{-128}));
  EXPECT_EQ(apply("arith.subi", "i8", {{-128}, {1}}), (Elements{127}));
  EXPECT_EQ(apply("arith.muli", "i32", {{65536}, {65536}}), (Elements{0}));
  EXPECT_EQ(apply("arith.maxui", "i8", {{-1, 3}, {1, 4}}), (Elements{-1, 4}));
  EXPECT_EQ(apply("arith.maxsi", "i8", {{-1, 3}, {1, 4}}), (Elements{1, 4}));
  EXPECT_EQ(apply("arith.minui", "i8", {{-1, 3}, {1, 4}}), (Elements{1, 3}));
  EXPECT_EQ(apply("arith.minsi", "i8", {{-1, 3}, {1, 4}}), (Elements{-1, 3}));
  EXPECT_EQ(apply("arith.shli", "i8", {{-128, 3}, {1, 2}}), (Elements{0, 12}));
  EXPECT_EQ(apply("arith.shrui", "i8", {{-128, 12}, {1, 2}}),
            (Elements{64, 3}));
  EXPECT_EQ(apply("arith.shrsi", "i8", {{-128, 12}, {1, 2}}),
            (Elements{-64, 3}));
  EXPECT_EQ(apply("arith.andi", "i32", {{12}, {10}}), (Elements{8}));
  EXPECT_EQ(apply("arith.ori", "i32", {{12}, {10}}), (Elements{14}));
  EXPECT_EQ(apply("arith.xori", "i32", {{12}, {10}}), (Elements{6}));
  EXPECT_EQ(apply("math.ipowi", "i32", {{-3, 2, -1}, {3, -1, -3}}),
            (Elements{-27, 0, -1}));
  EXPECT_EQ(apply("math.ctlz", "i8", {{1, 0}}), (Elements{7, 8}));
  EXPECT_EQ(apply("math.cttz", "i8", {{4, 0}}), (Elements{2, 8}));
  EXPECT_EQ(apply("math.ctpop", "i8", {{-1, 5}}), (Elements{8, 2}));
  EXPECT_EQ(apply("math.absi", "i8", {{-5, 5}}), (Elements{5, 5}));
}

TEST(ArithTest, floats) {
  EXPECT_EQ(apply("arith.addf", "f32", {{1}, {0x1p-24}}), (Elements{1}));
  EXPECT_EQ(apply("arith.addf", "f64", {{1}, {0x1p-24}}),
            (Elements{1 + 0x1p-24}));
  EXPECT_EQ(apply("arith.addf", "bf16", {{256}, {1}}), (Elements{256}));
  EXPECT_EQ(apply("arith.subf", "f32", {{1}, {3}}), (Elements{-2}));
  EXPECT_EQ(apply("arith.mulf", "f16", {{300}, {300}}), (Elements{INFINITY}));
  EXPECT_EQ(apply("arith.divf", "f32", {{1}, {3}}),
            (Elements{static_cast<float>(1.0 / 3)}));
  EXPECT_EQ(apply("arith.remf", "f32", {{-7.5}, {2}}), (Elements{-1.5}));
  EXPECT_EQ(apply("arith.negf", "f32", {{2}}), (Elements{-2}));
  EXPECT_TRUE(std::isnan(apply("arith.maximumf", "f32", {{NAN}, {1}})[0]));
  EXPECT_EQ(apply("arith.maxnumf", "f32", {{NAN, 2}, {1, 3}}),
            (Elements{1, 3}));
  EXPECT_EQ(apply("arith.minimumf", "f32", {{2}, {1}}), (Elements{1}));
  EXPECT_EQ(apply("arith.minnumf", "f32", {{NAN}, {1}}), (Elements{1}));
}

TEST(ArithTest, comparisons) {
  auto compare = [](std::string predicate, std::string element, Elements a,
                    Elements c) {
    std::string n = std::to_string(a.size());
    std::string type = "tensor<" + n + "x" + element + ">";
    std::string op = element[0] == 'i' ? "arith.cmpi " : "arith.cmpf ";
    TestProgram p(oneOp(op + predicate + ", %a0, %a1 : " + type, {type, type},
                        "tensor<" + n + "xi1>"));
    return p.runOne({a, c});
  };
  Elements a{-1, 2, 2}, c{1, 2, 1};
  EXPECT_EQ(compare("slt", "i8", a, c), (Elements{1, 0, 0}));
  EXPECT_EQ(compare("ult", "i8", a, c), (Elements{0, 0, 0}));
  EXPECT_EQ(compare("sge", "i8", a, c), (Elements{0, 1, 1}));
  EXPECT_EQ(compare("uge", "i8", a, c), (Elements{1, 1, 1}));
  EXPECT_EQ(compare("eq", "i8", a, c), (Elements{0, 1, 0}));
  EXPECT_EQ(compare("ne", "i8", a, c), (Elements{1, 0, 1}));
  // i1 is 0 or -1.
  EXPECT_EQ(compare("slt", "i1", {1}, {0}), (Elements{1}));
  EXPECT_EQ(compare("ugt", "i1", {1}, {0}), (Elements{1}));
  Elements x{1, NAN, 2}, y{2, 1, 2};
  EXPECT_EQ(compare("olt", "f32", x, y), (Elements{1, 0, 0}));
  EXPECT_EQ(compare("ult", "f32", x, y), (Elements{1, 1, 0}));
  EXPECT_EQ(compare("oeq", "f32", x, y), (Elements{0, 0, 1}));
  EXPECT_EQ(compare("one", "f32", x, y), (Elements{1, 0, 0}));
  EXPECT_EQ(compare("une", "f32", x, y), (Elements{1, 1, 0}));
  EXPECT_EQ(compare("uno", "f32", x, y), (Elements{0, 1, 0}));
  EXPECT_EQ(compare("ord", "f32", x, y), (Elements{1, 0, 1}));
  EXPECT_EQ(compare("oge", "f32", x, y), (Elements{0, 0, 1}));
  EXPECT_EQ(compare("true", "f32", x, y), (Elements{1, 1, 1}));
}

TEST(ArithTest, casts) {
  auto cast = [](std::string op, std::string from, std::string to, Elements x) {
    std::string n = "tensor<" + std::to_string(x.size()) + "x";
    TestProgram p(
        oneOp("arith." + op + " %a0 : " + n + from + "> to " + n + to + ">",
              {n + from + ">"}, n + to + ">"));
    return p.runOne({x});
  };
  EXPECT_EQ(cast("extsi", "i8", "i32", {-1}), (Elements{-1}));
  EXPECT_EQ(cast("extui", "i8", "i32", {-1}), (Elements{255}));
  EXPECT_EQ(cast("extsi", "i1", "i32", {1}), (Elements{-1}));
  EXPECT_EQ(cast("extui", "i1", "i32", {1}), (Elements{1}));
  EXPECT_EQ(cast("trunci", "i32", "i8", {200}), (Elements{-56}));
  EXPECT_EQ(cast("sitofp", "i32", "f32", {-3}), (Elements{-3}));
  EXPECT_EQ(cast("sitofp", "i1", "f32", {1}), (Elements{-1}));
  EXPECT_EQ(cast("uitofp", "i8", "f32", {-1}), (Elements{255}));
  EXPECT_EQ(cast("fptosi", "f32", "i32", {-2.7, 2.7}), (Elements{-2, 2}));
  EXPECT_EQ(cast("fptoui", "f32", "i8", {200}), (Elements{-56}));
  EXPECT_EQ(cast("truncf", "f32", "bf16", {1.00390625}), (Elements{1}));
  EXPECT_EQ(cast("extf", "bf16", "f32", {1.5}), (Elements{1.5}));
  EXPECT_EQ(cast("bitcast", "f32", "i32", {1}), (Elements{0x3f800000}));
  EXPECT_EQ(cast("bitcast", "i32", "f32", {0x3f800000}), (Elements{1}));
  EXPECT_EQ(cast("bitcast", "i16", "bf16", {0x3f80}), (Elements{1}));
  EXPECT_EQ(cast("index_cast", "i32", "index", {-4}), (Elements{-4}));
  EXPECT_EQ(cast("index_castui", "i32", "index", {-4}), (Elements{4294967292}));
}

TEST(ArithTest, select_with_scalar_condition) {
  TestProgram p(oneOp("arith.select %a0, %a1, %a2 : tensor<2xf32>",
                      {"i1", "tensor<2xf32>", "tensor<2xf32>"},
                      "tensor<2xf32>"));
  EXPECT_EQ(p.runOne({{1}, {1, 2}, {3, 4}}), (Elements{1, 2}));
  EXPECT_EQ(p.runOne({{0}, {1, 2}, {3, 4}}), (Elements{3, 4}));
}

TEST(ArithTest, division_by_zero_gives_ones_and_the_dividend) {
  for (const char *op :
       {"divsi", "divui", "ceildivsi", "ceildivui", "floordivsi"})
    EXPECT_EQ(apply(std::string("arith.") + op, "i32", {{7, -7, 0}, {0, 0, 0}}),
              (Elements{-1, -1, -1}))
        << op;
  for (const char *op : {"remsi", "remui"})
    EXPECT_EQ(apply(std::string("arith.") + op, "i32", {{7, -7, 0}, {0, 0, 0}}),
              (Elements{7, -7, 0}))
        << op;
}

TEST(ArithTest, shift_by_the_width_is_an_error) {
  TestProgram p(oneOp("arith.shli %a0, %a1 : i32", {"i32", "i32"}, "i32"));
  EXPECT_TRUE(failed(p.run({{{1}, {32}}})));
  EXPECT_EQ(p.error,
            "'arith.shli' op shifts by at least the width of the type");
}

TEST(MathTest, functions) {
  auto check = [](std::string op, double x, double expected) {
    expectNear(apply("math." + op, "f32", {{x}}), {expected}, 1e-6);
  };
  check("exp", 1, 2.7182818);
  check("exp2", 3, 8);
  check("expm1", 1e-5, 1.000005e-5);
  check("log", 2, 0.69314718);
  check("log2", 8, 3);
  check("log10", 1000, 3);
  check("log1p", 1e-5, 9.99995e-6);
  check("sqrt", 2, 1.41421356);
  check("rsqrt", 4, 0.5);
  check("cbrt", 27, 3);
  check("sin", 1, 0.84147098);
  check("cos", 1, 0.54030231);
  check("tan", 1, 1.55740772);
  check("tanh", 0.5, 0.46211716);
  check("sinh", 1, 1.17520119);
  check("cosh", 1, 1.54308063);
  check("asin", 0.5, 0.52359878);
  check("acos", 0.5, 1.04719755);
  check("atan", 1, 0.78539816);
  check("asinh", 1, 0.88137359);
  check("acosh", 2, 1.31695790);
  check("atanh", 0.5, 0.54930614);
  check("erf", 0.5, 0.52049988);
  check("erfc", 0.5, 0.47950012);
  check("absf", -2.5, 2.5);
  check("floor", -1.5, -2);
  check("ceil", -1.5, -1);
  check("round", 2.5, 3);
  check("roundeven", 2.5, 2);
  check("trunc", -1.5, -1);
  EXPECT_EQ(apply("math.powf", "f32", {{2}, {10}}), (Elements{1024}));
  EXPECT_EQ(apply("math.atan2", "f32", {{0}, {1}}), (Elements{0}));
  EXPECT_EQ(apply("math.copysign", "f32", {{3}, {-1}}), (Elements{-3}));
  EXPECT_EQ(apply("math.fma", "f32", {{2}, {3}, {4}}), (Elements{10}));
}

TEST(TensorOpsTest, slices) {
  TestProgram p(
      R"(func.func @f(%a: tensor<4x4xi32>, %i: index) -> tensor<2xi32> {
    %0 = tensor.extract_slice %a[%i, 1] [1, 2] [1, 2] : tensor<4x4xi32> to tensor<2xi32>
    return %0 : tensor<2xi32>
  })");
  Elements a(16);
  for (int i = 0; i < 16; ++i)
    a[i] = i;
  EXPECT_EQ(p.runOne({a, {2}}), (Elements{9, 11}));
  EXPECT_TRUE(failed(p.run({{a, {4}}})));
  EXPECT_EQ(p.error, "'tensor.extract_slice' op expects a slice inside "
                     "dimension 0 of size 4 but got "
                     "offset 4, size 1, stride 1");
  TestProgram far(
      oneOp("tensor.extract_slice %a0[2] [3] [9223372036854775807] : "
            "tensor<9xi32> to tensor<3xi32>",
            {"tensor<9xi32>"}, "tensor<3xi32>"));
  EXPECT_TRUE(failed(far.run({{Elements(9)}})));
  EXPECT_EQ(far.error, "'tensor.extract_slice' op expects a slice inside "
                       "dimension 0 of size 9 but got "
                       "offset 2, size 3, stride 9223372036854775807");

  TestProgram insert(oneOp(
      "tensor.insert_slice %a0 into %a1[1, 0] [1, 2] [1, 1] : tensor<2xi32> "
      "into tensor<2x2xi32>",
      {"tensor<2xi32>", "tensor<2x2xi32>"}, "tensor<2x2xi32>"));
  EXPECT_EQ(insert.runOne({{8, 9}, {1, 2, 3, 4}}), (Elements{1, 2, 8, 9}));
}

TEST(TensorOpsTest, shapes_and_elements) {
  TestProgram concat(oneOp("tensor.concat dim(1) %a0, %a1 : (tensor<2x1xi32>, "
                           "tensor<2x2xi32>) -> tensor<2x3xi32>",
                           {"tensor<2x1xi32>", "tensor<2x2xi32>"},
                           "tensor<2x3xi32>"));
  EXPECT_EQ(concat.runOne({{1, 2}, {3, 4, 5, 6}}),
            (Elements{1, 3, 4, 2, 5, 6}));
  TestProgram collapse(
      oneOp("tensor.collapse_shape %a0 [[0, 1]] : tensor<2x2xi32> into "
            "tensor<4xi32>",
            {"tensor<2x2xi32>"}, "tensor<4xi32>"));
  EXPECT_EQ(collapse.runOne({{1, 2, 3, 4}}), (Elements{1, 2, 3, 4}));
  TestProgram extract(oneOp("tensor.extract %a0[%a1] : tensor<2xi32>",
                            {"tensor<2xi32>", "index"}, "i32"));
  EXPECT_EQ(extract.runOne({{5, 6}, {1}}), (Elements{6}));
  EXPECT_TRUE(failed(extract.run({{{5, 6}, {2}}})));
  TestProgram elements(oneOp("tensor.from_elements %a0, %a1 : tensor<2xi32>",
                             {"i32", "i32"}, "tensor<2xi32>"));
  EXPECT_EQ(elements.runOne({{5}, {6}}), (Elements{5, 6}));
  TestProgram splat(
      oneOp("tensor.splat %a0 : tensor<2xf32>", {"f32"}, "tensor<2xf32>"));
  EXPECT_EQ(splat.runOne({{5}}), (Elements{5, 5}));
  // Reading a tensor.empty is an error.
  TestProgram empty(
      oneOp("tensor.empty() : tensor<2xf32>", {}, "tensor<2xf32>"));
  EXPECT_TRUE(std::isnan(empty.runOne()[0]));
}

TEST(TensorOpsTest, regions) {
  TestProgram pad(R"(func.func @f(%a: tensor<1x2xi32>) -> tensor<2x4xi32> {
    %c = arith.constant 7 : i32
    %0 = tensor.pad %a low[0, 1] high[1, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : i32
    } : tensor<1x2xi32> to tensor<2x4xi32>
    return %0 : tensor<2x4xi32>
  })");
  EXPECT_EQ(pad.runOne({{1, 2}}), (Elements{7, 1, 2, 7, 7, 7, 7, 7}));
  TestProgram generate(R"(func.func @f() -> tensor<2x2xindex> {
    %0 = tensor.generate {
    ^bb0(%i: index, %j: index):
      %c = arith.constant 10 : index
      %m = arith.muli %i, %c : index
      %s = arith.addi %m, %j : index
      tensor.yield %s : index
    } : tensor<2x2xindex>
    return %0 : tensor<2x2xindex>
  })");
  EXPECT_EQ(generate.runOne(), (Elements{0, 1, 10, 11}));
}

TEST(LinalgTest, named_ops) {
  std::string m = "tensor<2x2xf32>";
  TestProgram matmul(oneOp("linalg.matmul ins(%a0, %a1 : " + m + ", " + m +
                               ") outs(%a2 : " + m + ") -> " + m,
                           {m, m, m}, m));
  EXPECT_EQ(matmul.runOne({{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 0, 0, 1}}),
            (Elements{20, 22, 43, 51}));
  TestProgram fill(
      oneOp("linalg.fill ins(%a0 : f32) outs(%a1 : " + m + ") -> " + m,
            {"f32", m}, m));
  EXPECT_EQ(fill.runOne({{3}, {0}}), (Elements{3, 3, 3, 3}));
  TestProgram transpose(oneOp("linalg.transpose ins(%a0 : " + m +
                                  ") outs(%a1 : " + m +
                                  ") permutation = [1, 0]",
                              {m, m}, m));
  EXPECT_EQ(transpose.runOne({{1, 2, 3, 4}, {0}}), (Elements{1, 3, 2, 4}));
  TestProgram reduce(
      R"(func.func @f(%a: tensor<2x3xf32>, %i: tensor<2xf32>) -> tensor<2xf32> {
    %0 = linalg.reduce { arith.maximumf } ins(%a : tensor<2x3xf32>)
      outs(%i : tensor<2xf32>) dimensions = [1]
    return %0 : tensor<2xf32>
  })");
  EXPECT_EQ(reduce.runOne({{1, 5, 2, -3, -4, -5}, {0, -3.5}}),
            (Elements{5, -3}));
  TestProgram broadcast(R"(func.func @f(%a: tensor<2xf32>) -> tensor<2x2xf32> {
    %e = tensor.empty() : tensor<2x2xf32>
    %0 = linalg.broadcast ins(%a : tensor<2xf32>) outs(%e : tensor<2x2xf32>) dimensions = [0]
    return %0 : tensor<2x2xf32>
  })");
  EXPECT_EQ(broadcast.runOne({{1, 2}}), (Elements{1, 2, 1, 2}));
  TestProgram map(R"(func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
    %e = tensor.empty() : tensor<2xf32>
    %0 = linalg.map { math.absf } ins(%a : tensor<2xf32>) outs(%e : tensor<2xf32>)
    return %0 : tensor<2xf32>
  })");
  EXPECT_EQ(map.runOne({{-1, 2}}), (Elements{1, 2}));
  TestProgram conv(oneOp(
      "linalg.conv_1d ins(%a0, %a1 : tensor<4xf32>, tensor<2xf32>) outs(%a2 : "
      "tensor<3xf32>) -> tensor<3xf32>",
      {"tensor<4xf32>", "tensor<2xf32>", "tensor<3xf32>"}, "tensor<3xf32>"));
  EXPECT_EQ(conv.runOne({{1, 2, 3, 4}, {1, 10}, {0}}), (Elements{21, 32, 43}));
}

// Integer matmuls do not use the fast path for floats.
TEST(LinalgTest, integer_matmul_wraps) {
  std::string m = "tensor<1x1xi8>";
  TestProgram p(oneOp("linalg.matmul ins(%a0, %a1 : " + m + ", " + m +
                          ") outs(%a2 : " + m + ") -> " + m,
                      {m, m, m}, m));
  EXPECT_EQ(p.runOne({{100}, {2}, {1}}), (Elements{-55}));
}

TEST(LinalgTest, generic_with_index_capture_and_gather) {
  TestProgram p(
      R"(func.func @f(%t: tensor<4xf32>, %o: index) -> tensor<2x3xf32> {
    %e = tensor.empty() : tensor<2x3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x3xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %s = arith.addi %i, %j : index
      %k = arith.addi %s, %o : index
      %v = tensor.extract %t[%k] : tensor<4xf32>
      linalg.yield %v : f32
    } -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  })");
  EXPECT_EQ(p.runOne({{1, 2, 3, 4}, {0}}), (Elements{1, 2, 3, 2, 3, 4}));
  EXPECT_TRUE(failed(p.run({{{1, 2, 3, 4}, {1}}})));
  EXPECT_EQ(p.error,
            "'tensor.extract' op expects an index in [0, 4) but got 4");
}

// Maps that are not linear: the result reads backwards in pairs.
TEST(LinalgTest, generic_with_modulo_map) {
  TestProgram p(R"(func.func @f(%a: tensor<2xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i mod 2)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%a : tensor<2xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%x: f32, %out: f32):
      linalg.yield %x : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  })");
  EXPECT_EQ(p.runOne({{1, 2}}), (Elements{1, 2, 1, 2}));
}

// Sums are computed in double and rounded once: 1 + 4 * 2^-25 is above 1 in
// f32, although no single addend changes it.
TEST(LinalgTest, reductions_round_once) {
  TestProgram p(
      R"(func.func @f(%a: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
    %0 = linalg.reduce { arith.addf } ins(%a : tensor<4xf32>)
      outs(%i : tensor<f32>) dimensions = [0]
    return %0 : tensor<f32>
  })");
  EXPECT_EQ(p.runOne({{0x1p-25}, {1}}), (Elements{1 + 0x1p-23}));
}

TEST(ControlTest, loops_calls_and_branches) {
  TestProgram p(R"(
  func.func @double(%x: i32) -> i32 {
    %0 = arith.addi %x, %x : i32
    return %0 : i32
  }
  func.func @f(%x: i32, %c: i1) -> i32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %3 = arith.constant 3 : index
    %r = scf.for %i = %0 to %3 step %1 iter_args(%v = %x) -> (i32) {
      %d = func.call @double(%v) : (i32) -> i32
      scf.yield %d : i32
    }
    %s = scf.if %c -> (i32) {
      scf.yield %r : i32
    } else {
      scf.yield %x : i32
    }
    return %s : i32
  })");
  EXPECT_EQ(p.runOne({{5}, {1}}), (Elements{40}));
  EXPECT_EQ(p.runOne({{5}, {0}}), (Elements{5}));
  EXPECT_TRUE(failed(p.run({{{5}, {0}}, {{5}, {1}}})));
  EXPECT_EQ(
      p.error,
      "'scf.if' op expects bounds and conditions that are the same on all "
      "ranks but got 0 and 1");
}

TEST(ControlTest, unknown_op_is_an_error) {
  TestProgram p(R"(func.func @f(%x: tensor<4xi32>, %i: tensor<2x1xi32>)
      -> tensor<2xi32> {
    %0 = tensor.gather %x[%i] gather_dims([0])
      : (tensor<4xi32>, tensor<2x1xi32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  })");
  EXPECT_TRUE(failed(p.run({{{1, 2, 3, 4}, {0, 1}}})));
  EXPECT_EQ(p.error, "the interpreter does not know 'tensor.gather'");
}

} // namespace
