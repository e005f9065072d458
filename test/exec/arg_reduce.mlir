// A value and its position, along a sharded dimension: pairs are combined,
// nothing is gathered. Integer data has many ties: the first of equals wins.
// RUN: tessera verify %s --seeds 3 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0 --seeds 3 | FileCheck %s
// RUN: sed 's/"x"=2, "y"=4/"x"=1, "y"=2/' %s | tessera verify - --integers --tolerance 0
// RUN: sed 's/"x"=2, "y"=4/"x"=2, "y"=2/' %s | tessera verify - --integers --tolerance 0
// RUN: sed 's/xf32/xbf16/g; s/<f32>/<bf16>/g; s/: f32/: bf16/g; s/0x7FC00000/0x7FC0/; s/0xFF800000/0xFF80/' %s | tessera verify - --integers --tolerance 0

dist.mesh @mesh ["x"=2, "y"=4]

// Two of eight numbers of four bytes over eight devices: 2 * 7/8 * 32 each.
// CHECK-LABEL: @max
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2 112
// CHECK-NEXT: proven
func.func @max(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi32>
  return %v, %i : tensor<8xf32>, tensor<8xi32>
}

// 17 on 8 devices, and all below zero: padding would be the largest.
// CHECK-LABEL: @max_of_seventeen
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @max_of_seventeen(%x: tensor<8x17xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<64.0> : tensor<8x17xf32>
  %0 = arith.subf %x, %c : tensor<8x17xf32>
  %v, %i = nn.arg_reduce <max> %0 dim 1 : tensor<8x17xf32> -> tensor<8xf32>, tensor<8xi32>
  return %v, %i : tensor<8xf32>, tensor<8xi32>
}

// Along the first dimension, for integers, positions in 64 bits.
// CHECK-LABEL: @min_of_integers
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @min_of_integers(%x: tensor<17x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
        tensor<6xi64> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %c = arith.constant dense<10> : tensor<17x6xi32>
  %0 = arith.addi %x, %c : tensor<17x6xi32>
  %v, %i = nn.arg_reduce <min> %0 dim 0 : tensor<17x6xi32> -> tensor<6xi32>, tensor<6xi64>
  return %v, %i : tensor<6xi32>, tensor<6xi64>
}

// The first true element; if there is none, the first element.
// CHECK-LABEL: @first_true
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @first_true(%x: tensor<8x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8xi1> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<1.0> : tensor<8x9xf32>
  %0 = arith.cmpf ogt, %x, %c : tensor<8x9xf32>
  %v, %i = nn.arg_reduce <max> %0 dim 1 : tensor<8x9xi1> -> tensor<8xi1>, tensor<8xi32>
  return %v, %i : tensor<8xi1>, tensor<8xi32>
}

// NaN is the largest, and the first one's position counts; the function returns
// whether the value is NaN, since NaN equals nothing.
// CHECK-LABEL: @not_a_number
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @not_a_number(%x: tensor<16x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<16xi1> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %one = arith.constant dense<1.0> : tensor<16x9xf32>
  %nan = arith.constant dense<0x7FC00000> : tensor<16x9xf32>
  %is = arith.cmpf ogt, %x, %one : tensor<16x9xf32>
  %0 = arith.select %is, %nan, %x : tensor<16x9xi1>, tensor<16x9xf32>
  %v, %i = nn.arg_reduce <max> %0 dim 1 : tensor<16x9xf32> -> tensor<16xf32>, tensor<16xi32>
  %1 = arith.cmpf uno, %v, %v : tensor<16xf32>
  return %1, %i : tensor<16xi1>, tensor<16xi32>
}

// Rows of minus infinity give the first element, and not one of the padding.
// CHECK-LABEL: @infinities
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @infinities(%x: tensor<8x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %c = arith.constant dense<0xFF800000> : tensor<8x9xf32>
  %big = arith.constant dense<100.0> : tensor<8x9xf32>
  %is = arith.cmpf ogt, %x, %big : tensor<8x9xf32>
  %0 = arith.select %is, %x, %c : tensor<8x9xi1>, tensor<8x9xf32>
  %v, %i = nn.arg_reduce <max> %0 dim 1 : tensor<8x9xf32> -> tensor<8xf32>, tensor<8xi32>
  return %v, %i : tensor<8xf32>, tensor<8xi32>
}

// The number of tokens that the model guesses correctly: logits are sharded
// over the vocabulary and over the batch.
// CHECK-LABEL: @accuracy
// CHECK: yes
// CHECK-NOT: gather
// CHECK: proven
func.func @accuracy(%logits: tensor<4x6x24xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}]>},
                    %labels: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<f32>) {
  %v, %i = nn.arg_reduce <max> %logits dim 2 : tensor<4x6x24xf32> -> tensor<4x6xf32>, tensor<4x6xi32>
  %same = arith.cmpi eq, %i, %labels : tensor<4x6xi32>
  %count = arith.uitofp %same : tensor<4x6xi1> to tensor<4x6xf32>
  %sum = nn.reduce <sum> %count dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
  return %sum : tensor<f32>
}
