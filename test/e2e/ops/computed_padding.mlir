// tensor.pad with a computed value, computed once or from its position, also of
// a tensor without elements, compiled: as in the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-3: {{[a-z0-9_]+}}: largest difference 0,

func.func @f(%x: tensor<2x3xf32>, %none: tensor<0x3xf32>) -> (
    tensor<4x4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %element = tensor.extract %x[%c1, %c0] : tensor<2x3xf32>
  %0 = tensor.pad %x low[1, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %element : f32
  } : tensor<2x3xf32> to tensor<4x4xf32>
  %1 = tensor.pad %none low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %element : f32
  } : tensor<0x3xf32> to tensor<2x3xf32>
  %2 = tensor.pad %x low[1, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    %sum = arith.addi %i, %j : index
    %integer = arith.index_cast %sum : index to i32
    %float = arith.sitofp %integer : i32 to f32
    tensor.yield %float : f32
  } : tensor<2x3xf32> to tensor<3x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<2x3xf32>, tensor<3x4xf32>
}
