// Ops after reductions of a sharded dimension. Ops that do not commute with the
// reduction wait for it: functions that are not defined or not increasing at
// its neutral element, which a device without rows has; integers that wrap or
// are unsigned; reductions of another kind.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0

dist.mesh @mesh ["x"=2, "y"=4]

// The minimum of a device without rows is INT_MAX, and INT_MAX + 1 wraps.
// CHECK-LABEL: @min_plus_one
// CHECK: yes
// CHECK: all_reduce 1
func.func @min_plus_one(%a: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> tensor<6xi32> {
  %m = nn.reduce <min> %a dims [0] : tensor<2x6xi32> -> tensor<6xi32>
  %one = arith.constant dense<1> : tensor<6xi32>
  %r = arith.addi %m, %one : tensor<6xi32>
  return %r : tensor<6xi32>
}

// CHECK-LABEL: @sqrt_of_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @sqrt_of_max(%a: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> tensor<6xf32> {
  %s = arith.mulf %a, %a : tensor<2x6xf32>
  %m = nn.reduce <max> %s dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %r = math.sqrt %m : tensor<6xf32>
  return %r : tensor<6xf32>
}

// Some of the partial maxima are below zero.
// CHECK-LABEL: @log_of_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @log_of_max(%a: tensor<6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<5xf32> {
  %p = arith.constant dense<[[-1.0], [-2.0], [-3.0], [4.0], [5.0], [6.0]]> : tensor<6x1xf32>
  %c = tensor.collapse_shape %p [[0, 1]] : tensor<6x1xf32> into tensor<6xf32>
  %b = nn.broadcast %c dims [0] : tensor<6xf32> -> tensor<6x5xf32>
  %s = math.sin %a : tensor<6x5xf32>
  %t = arith.addf %s, %b : tensor<6x5xf32>
  %m = nn.reduce <max> %t dims [0] : tensor<6x5xf32> -> tensor<5xf32>
  %r = math.log %m : tensor<5xf32>
  return %r : tensor<5xf32>
}

// INT_MIN of a device without rows is 2147483648 as an unsigned integer.
// CHECK-LABEL: @unsigned_float_of_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @unsigned_float_of_max(%a: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> tensor<6xf32> {
  %m = nn.reduce <max> %a dims [0] : tensor<2x6xi32> -> tensor<6xi32>
  %r = arith.uitofp %m : tensor<6xi32> to tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: @unsigned_max_of_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @unsigned_max_of_max(%a: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %c: tensor<6xi32>) -> tensor<6xi32> {
  %lo = arith.constant -2147483648 : i32
  %e = tensor.empty() : tensor<6xi32>
  %f = linalg.fill ins(%lo : i32) outs(%e : tensor<6xi32>) -> tensor<6xi32>
  %m = linalg.reduce { arith.maxsi } ins(%a : tensor<4x6xi32>) outs(%f : tensor<6xi32>) dimensions = [0]
  %r = arith.maxui %m, %c : tensor<6xi32>
  return %r : tensor<6xi32>
}

// Partial maxima wrap for numbers that the whole one does not reach.
// CHECK-LABEL: @narrow_sum_with_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @narrow_sum_with_max(%a: tensor<4x6xi8> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) -> tensor<6xi8> {
  %c100 = arith.constant dense<100> : tensor<6xi8>
  %k = arith.constant dense<[120, 3, 4, 5]> : tensor<4xi8>
  %b = nn.broadcast %k dims [0] : tensor<4xi8> -> tensor<4x6xi8>
  %x = arith.xori %a, %b : tensor<4x6xi8>
  %m = nn.reduce <max> %x dims [0] : tensor<4x6xi8> -> tensor<6xi8>
  %r = arith.addi %m, %c100 : tensor<6xi8>
  return %r : tensor<6xi8>
}

// A sum of maxima: the running value is partial from the second step on.
// CHECK-LABEL: @sum_of_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_of_max(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%ninf : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%a : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%m : tensor<6xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// CHECK-LABEL: @product_of_sum
// CHECK: yes
// CHECK: all_reduce 1
func.func @product_of_sum(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %m = linalg.reduce { arith.addf } ins(%a : tensor<4x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%one : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.mulf } ins(%m : tensor<6xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// The second sum is over the running values of the first: no plain reduction.
// CHECK-LABEL: @sum_of_prefix_sums
// CHECK: yes
// CHECK: all_gather 1
#id = affine_map<(j) -> (j)>
#o = affine_map<(j) -> ()>
func.func @sum_of_prefix_sums(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s:2 = linalg.generic {indexing_maps=[#id,#o,#o], iterator_types=["reduction"]} ins(%a : tensor<8xf32>) outs(%f0, %f0 : tensor<f32>, tensor<f32>) {
  ^bb0(%x: f32, %r0: f32, %r1: f32):
    %p = arith.addf %r0, %x : f32
    %q = arith.addf %r1, %p : f32
    linalg.yield %p, %q : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %s#0, %s#1 : tensor<f32>, tensor<f32>
}

// True is -1 as a signed integer: this is "all".
// CHECK-LABEL: @signed_max_of_booleans
// CHECK: yes
// CHECK: all_reduce 1
func.func @signed_max_of_booleans(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6xi1> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %c = arith.cmpf ogt, %a, %zero : tensor<4x6xf32>
  %t = arith.constant true
  %e = tensor.empty() : tensor<6xi1>
  %f = linalg.fill ins(%t : i1) outs(%e : tensor<6xi1>) -> tensor<6xi1>
  %m = linalg.reduce { arith.maxsi } ins(%c : tensor<4x6xi1>) outs(%f : tensor<6xi1>) dimensions = [0]
  return %m : tensor<6xi1>
}

// "Any" of rows, widened: 0 or -1.
// CHECK-LABEL: @widened_booleans
// CHECK: yes
// CHECK: all_reduce 1
func.func @widened_booleans(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6xi32> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %c = arith.cmpf ogt, %a, %zero : tensor<4x6xf32>
  %m = nn.reduce <max> %c dims [0] : tensor<4x6xi1> -> tensor<6xi1>
  %r = arith.extsi %m : tensor<6xi1> to tensor<6xi32>
  return %r : tensor<6xi32>
}

// A sum that wraps is widened after the reduction.
// CHECK-LABEL: @widened_sum
// CHECK: yes
// CHECK: all_reduce 1
func.func @widened_sum(%a: tensor<4x6xi8> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6xi32> {
  %c = arith.constant dense<100> : tensor<4x6xi8>
  %b = arith.addi %a, %c : tensor<4x6xi8>
  %m = nn.reduce <sum> %b dims [0] : tensor<4x6xi8> -> tensor<6xi8>
  %r = arith.extsi %m : tensor<6xi8> to tensor<6xi32>
  return %r : tensor<6xi32>
}

// 0 / 0 of one device is NaN while the whole sum over 0 is infinite.
// CHECK-LABEL: @sum_over_zero
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_over_zero(%a: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %b: tensor<6xf32>) -> tensor<6xi1> {
  %one = arith.constant dense<1.0> : tensor<2x6xf32>
  %zero = arith.constant dense<0.0> : tensor<6xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<6xf32>
  %p = math.absf %a : tensor<2x6xf32>
  %q = arith.addf %p, %one : tensor<2x6xf32>
  %s = nn.reduce <sum> %q dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %z = arith.minimumf %b, %zero : tensor<6xf32>
  %d = arith.maximumf %z, %zero : tensor<6xf32>
  %r = arith.divf %s, %d : tensor<6xf32>
  %i = arith.cmpf oeq, %r, %inf : tensor<6xf32>
  return %i : tensor<6xi1>
}

// A partial argument that is sliced to its true size, and one that is summed
// over the rest of its axis.
// CHECK-LABEL: @partial_arguments
// CHECK: yes
// CHECK: partition proven
func.func @partial_arguments(
    %a: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"y":(1)2}], unreduced={"y":(2)2}>},
    %b: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"y":(2)2}], unreduced={"y":(1)2}>},
    %c: tensor<8xi32>) -> (tensor<5xi32>, tensor<i32>) {
  %0 = math.ctpop %a : tensor<5xi32>
  %z = arith.constant dense<0> : tensor<i32>
  %1 = linalg.dot ins(%c, %b : tensor<8xi32>, tensor<8xi32>) outs(%z : tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<5xi32>, tensor<i32>
}
