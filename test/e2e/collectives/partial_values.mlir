// Reductions of a sharded dimension before ops that must wait for them, and
// padding that must not count, compiled: on four ranks, two or three of them
// without rows. The same programs are in exec/partial_values.mlir and
// exec/padding_of_zeros.mlir.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 4 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-8: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-COUNT-6: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=4]
#id = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
func.func @f(%i: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
             %n: tensor<2x6xi8> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<6xi32>,
             %a: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
             %p: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
             %d: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
             %q: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
             %l: tensor<4x5xi8> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %r: tensor<5x3xi8>) -> (
    tensor<6xi32> {nn.output = "min_plus_one"}, tensor<6xf32> {nn.output = "unsigned_float_of_max"},
    tensor<6xi32> {nn.output = "unsigned_max_of_max"}, tensor<6xi8> {nn.output = "narrow_sum_with_max"},
    tensor<6xi1> {nn.output = "signed_max_of_booleans"}, tensor<6xi32> {nn.output = "widened_booleans"},
    tensor<6xi32> {nn.output = "widened_sum"}, tensor<4x3xi32> {nn.output = "quantized_matmul"},
    tensor<6xf32> {nn.output = "sqrt_of_max"}, tensor<f32> {nn.output = "sum_of_max"},
    tensor<f32> {nn.output = "product_of_sum"}, tensor<f32> {nn.output = "sum_of_prefix_sums"},
    tensor<f32> {nn.output = "sum_of_quotient"}, tensor<f32> {nn.output = "sum_of_logarithms"}) {
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant -2147483648 : i32
  %least8 = arith.constant -128 : i8
  %true = arith.constant true
  %zeroi = arith.constant 0 : i32
  %ones = arith.constant dense<1> : tensor<6xi32>
  %hundreds = arith.constant dense<100> : tensor<6xi8>
  %zeros = arith.constant dense<0.0> : tensor<2x6xf32>
  %empty = tensor.empty() : tensor<6xi32>
  %emptyf = tensor.empty() : tensor<6xf32>
  %emptyb = tensor.empty() : tensor<6xi1>
  %none = tensor.empty() : tensor<f32>
  %min = nn.reduce <min> %i dims [0] : tensor<2x6xi32> -> tensor<6xi32>
  %r0 = arith.addi %min, %ones : tensor<6xi32>
  %max = nn.reduce <max> %i dims [0] : tensor<2x6xi32> -> tensor<6xi32>
  %r1 = arith.uitofp %max : tensor<6xi32> to tensor<6xf32>
  %f2 = linalg.fill ins(%least : i32) outs(%empty : tensor<6xi32>) -> tensor<6xi32>
  %max2 = linalg.reduce { arith.maxsi } ins(%i : tensor<2x6xi32>) outs(%f2 : tensor<6xi32>) dimensions = [0]
  %r2 = arith.maxui %max2, %u : tensor<6xi32>
  %max3 = nn.reduce <max> %n dims [0] : tensor<2x6xi8> -> tensor<6xi8>
  %r3 = arith.addi %max3, %hundreds : tensor<6xi8>
  %c = arith.cmpf ogt, %a, %zeros : tensor<2x6xf32>
  %f4 = linalg.fill ins(%true : i1) outs(%emptyb : tensor<6xi1>) -> tensor<6xi1>
  %r4 = linalg.reduce { arith.maxsi } ins(%c : tensor<2x6xi1>) outs(%f4 : tensor<6xi1>) dimensions = [0]
  %any = nn.reduce <max> %c dims [0] : tensor<2x6xi1> -> tensor<6xi1>
  %r5 = arith.extsi %any : tensor<6xi1> to tensor<6xi32>
  %sum8 = nn.reduce <sum> %n dims [0] : tensor<2x6xi8> -> tensor<6xi8>
  %r6 = arith.extsi %sum8 : tensor<6xi8> to tensor<6xi32>
  %za = arith.constant 3 : i32
  %zb = arith.constant 2 : i32
  %e7 = tensor.empty() : tensor<4x3xi32>
  %f7 = linalg.fill ins(%zeroi : i32) outs(%e7 : tensor<4x3xi32>) -> tensor<4x3xi32>
  %r7 = linalg.quantized_matmul ins(%l, %r, %za, %zb : tensor<4x5xi8>, tensor<5x3xi8>, i32, i32) outs(%f7 : tensor<4x3xi32>) -> tensor<4x3xi32>
  %sq = arith.mulf %a, %a : tensor<2x6xf32>
  %max8 = nn.reduce <max> %sq dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %r8 = math.sqrt %max8 : tensor<6xf32>
  %max9 = nn.reduce <max> %a dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %r9 = linalg.reduce { arith.addf } ins(%max9 : tensor<6xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %sum10 = nn.reduce <sum> %a dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %f1 = linalg.fill ins(%unit : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %r10 = linalg.reduce { arith.mulf } ins(%sum10 : tensor<6xf32>) outs(%f1 : tensor<f32>) dimensions = [0]
  %r11:2 = linalg.generic {indexing_maps=[#id,#one,#one], iterator_types=["reduction"]} ins(%d : tensor<8xf32>) outs(%f0, %f0 : tensor<f32>, tensor<f32>) {
  ^bb0(%x: f32, %s0: f32, %s1: f32):
    %t0 = arith.addf %s0, %x : f32
    %t1 = arith.addf %s1, %t0 : f32
    linalg.yield %t0, %t1 : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  %quotient = arith.divf %p, %q : tensor<5xf32>
  %r12 = nn.reduce <sum> %quotient dims [0] : tensor<5xf32> -> tensor<f32>
  %logs = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%p, %q : tensor<5xf32>, tensor<5xf32>) outs(%q : tensor<5xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %y2 = arith.mulf %y, %y : f32
    %log = math.log %y2 : f32
    %m = arith.mulf %x, %log : f32
    linalg.yield %m : f32
  } -> tensor<5xf32>
  %r13 = nn.reduce <sum> %logs dims [0] : tensor<5xf32> -> tensor<f32>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11#1, %r12, %r13 : tensor<6xi32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi8>, tensor<6xi1>, tensor<6xi32>, tensor<6xi32>, tensor<4x3xi32>, tensor<6xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
