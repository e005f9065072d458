// Reductions keep their kind, and padding does not count.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @kept_dimension
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @kept_dimension(
    %x: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %0 = nn.reduce <sum> %x dims [1] : tensor<7x6xf32> -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// CHECK-LABEL: @sum
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum(%x: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = nn.reduce <sum> %x dims [0] : tensor<7x6xf32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// All elements are negative, so that a padding of zeros would win.
// CHECK-LABEL: @max_of_negative
// CHECK: yes
// CHECK: all_reduce 1
func.func @max_of_negative(%x: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<10.0> : tensor<7x6xf32>
  %0 = arith.subf %x, %c : tensor<7x6xf32>
  %1 = nn.reduce <max> %0 dims [0] : tensor<7x6xf32> -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// CHECK-LABEL: @min_of_integers
// CHECK: yes
// CHECK: all_reduce 1
func.func @min_of_integers(%x: tensor<7x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<10> : tensor<7x6xi32>
  %0 = arith.addi %x, %c : tensor<7x6xi32>
  %1 = nn.reduce <min> %0 dims [0] : tensor<7x6xi32> -> tensor<6xi32>
  return %1 : tensor<6xi32>
}

// A sum of values that are not zero in the padding: 0 + 1 is 1.
// CHECK-LABEL: @sum_of_shifted
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_of_shifted(
    %x: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<1.0> : tensor<7x6xf32>
  %0 = arith.addf %x, %c : tensor<7x6xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<7x6xf32> -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// Two dimensions over two axes.
// CHECK-LABEL: @all_dimensions
// CHECK: yes
// CHECK: all_reduce 1
func.func @all_dimensions(%x: tensor<7x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> tensor<f32> {
  %0 = nn.reduce <sum> %x dims [0, 1] : tensor<7x5xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// A reduction with an init operand, which counts once.
// CHECK-LABEL: @linalg_reduce_with_init
// CHECK: yes
// CHECK: all_reduce 1
func.func @linalg_reduce_with_init(
    %x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %i: tensor<6xf32>)
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x6xf32>) outs(%i : tensor<6xf32>) dimensions = [0]
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: @linalg_max
// CHECK: yes
// CHECK: all_reduce 1
func.func @linalg_max(%x: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<7x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
  return %0 : tensor<6xf32>
}

// Pairs of a value and its position.
// CHECK-LABEL: @argmax
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
func.func @argmax(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %low = arith.constant dense<-1.0e+30> : tensor<8xf32>
  %none = arith.constant dense<-1> : tensor<8xi32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%low, %none : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %a, %best : f32
    %v = arith.select %gt, %a, %best : f32
    %p = arith.select %gt, %n, %at : i32
    linalg.yield %v, %p : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// CHECK-LABEL: @seventeen_rows
// CHECK-COUNT-2: yes
// CHECK: all_reduce 1
func.func @seventeen_rows(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = arith.addf %x, %x : tensor<17x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<17x4xf32>
}

// Or and and of booleans: a max and a min, padded with the neutral element.
// CHECK-LABEL: @any_and_all
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @any_and_all(%x: tensor<6x17xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<6xi1> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<6xi1> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<1.5> : tensor<6x17xf32>
  %low = arith.constant dense<-1.5> : tensor<6x17xf32>
  %0 = arith.cmpf ogt, %x, %c : tensor<6x17xf32>
  %1 = arith.cmpf ogt, %x, %low : tensor<6x17xf32>
  %false = arith.constant dense<false> : tensor<6xi1>
  %true = arith.constant dense<true> : tensor<6xi1>
  %any = linalg.reduce { arith.ori } ins(%0 : tensor<6x17xi1>) outs(%false : tensor<6xi1>) dimensions = [1]
  %all = linalg.reduce { arith.andi } ins(%1 : tensor<6x17xi1>) outs(%true : tensor<6xi1>) dimensions = [1]
  return %any, %all : tensor<6xi1>, tensor<6xi1>
}
