// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-convert-nn,rt-fuse-elementwise),rt-outline-kernels,rt-verify-kernels)' | FileCheck %s

// A softmax is one kernel: its rows run from the maximum to the division.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[Y:.*]] = rt.kernel @kernel_0(%arg0) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @kernel_0
// CHECK-SAME: rt.kernel, rt.reuse = array<i64: 0, 0>, rt.rows = 8 : i64
// CHECK-COUNT-4: linalg.generic
func.func @softmax(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = nn.softmax %x dim 2 : tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// -----

// Layers share kernels: weights are operands.
// CHECK-LABEL: func.func @layers
// CHECK: rt.kernel @kernel_0(%arg0, %arg1, %arg2)
// CHECK: rt.matmul
// CHECK: %[[H:.*]]:2 = rt.kernel @kernel_1(%arg0, %{{.*}}, %arg4, %arg5)
// CHECK: rt.matmul %[[H]]#1
// CHECK: rt.kernel @kernel_1(%[[H]]#0, %{{.*}}, %arg1, %arg2)
// CHECK: func.func private @kernel_0
// CHECK: func.func private @kernel_1
// CHECK-NOT: func.func
func.func @layers(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %w: tensor<8x8xf32>,
                  %g2: tensor<8xf32>, %b2: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  %1 = nn.einsum "sd,df->sf" %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = arith.addf %x, %1 : tensor<4x8xf32>
  %3 = nn.layer_norm %2, %g2, %b2 eps 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  %4 = nn.einsum "sd,df->sf" %3, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %5 = arith.addf %2, %4 : tensor<4x8xf32>
  %6 = nn.layer_norm %5, %g, %b eps 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %5, %6 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A tensor with a single dimension above one has that many rows, and shares no
// kernel with another size.
// CHECK-LABEL: func.func @one_dimension
// CHECK: %[[E:.*]] = rt.kernel @kernel_0(%arg0)
// CHECK: rt.kernel @kernel_1(%arg1, %[[E]])
// CHECK: rt.kernel @kernel_2(%arg2, %[[E]])
// CHECK: func.func private @kernel_1({{.*}}tensor<1x683xf32>, {{.*}}tensor<f32>) -> tensor<1x683xf32> attributes {rt.kernel, rt.reuse = array<i64: 0, 0>, rt.rows = 683 : i64}
// CHECK: func.func private @kernel_2({{.*}}tensor<1x342x1xf32>, {{.*}}tensor<f32>) -> tensor<1x342x1xf32> attributes {rt.kernel, rt.reuse = array<i64: 0, 0>, rt.rows = 342 : i64}
func.func @one_dimension(%s: tensor<f32>, %x: tensor<1x683xf32>, %y: tensor<1x342x1xf32>) -> (tensor<1x683xf32>, tensor<1x342x1xf32>) {
  %e = math.exp %s : tensor<f32>
  %0 = nn.broadcast %e dims [] : tensor<f32> -> tensor<1x683xf32>
  %1 = arith.mulf %x, %0 : tensor<1x683xf32>
  %2 = nn.broadcast %e dims [] : tensor<f32> -> tensor<1x342x1xf32>
  %3 = arith.mulf %y, %2 : tensor<1x342x1xf32>
  return %1, %3 : tensor<1x683xf32>, tensor<1x342x1xf32>
}

// -----

// A path that leaves a group and comes back splits it: the matmul is
// between.
// CHECK-LABEL: func.func @no_cycle
// CHECK: %[[E:.*]] = rt.kernel @kernel_0(%arg0)
// CHECK: %[[P:.*]] = rt.matmul %[[E]], %arg1
// CHECK: rt.kernel @kernel_1(%[[E]], %[[P]])
func.func @no_cycle(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = math.exp %x : tensor<4x4xf32>
  %1 = nn.einsum "sd,df->sf" %0, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A value that is read across rows is stored outside of a kernel.
// CHECK-LABEL: func.func @across_rows
// CHECK: rt.kernel @kernel_0
// CHECK: rt.kernel @kernel_1
func.func @across_rows(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = math.exp %x : tensor<4x4xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A mean over all rows does not make the parallel rows sequential.
// CHECK-LABEL: func.func @mean
// CHECK: rt.kernel @kernel_0
// CHECK: rt.kernel @kernel_1
// CHECK: func.func private @kernel_0
// CHECK-SAME: rt.rows = 128 : i64
// CHECK: func.func private @kernel_1
// CHECK-SAME: rt.rows = 1 : i64
func.func @mean(%x: tensor<128x256xf32>) -> tensor<f32> {
  %0 = math.exp %x : tensor<128x256xf32>
  %1 = nn.reduce <sum> %0 dims [1] : tensor<128x256xf32> -> tensor<128xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<128xf32> -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// A row that is too large for the stack is in memory: a result.
// CHECK-LABEL: func.func @large_rows
// CHECK: rt.kernel @kernel_0(%arg0) : (tensor<2x50000xf32>) -> (tensor<2x50000xf32>, tensor<2x50000xf32>)
func.func @large_rows(%x: tensor<2x50000xf32>) -> tensor<2x50000xf32> {
  %0 = nn.softmax %x dim 1 : tensor<2x50000xf32>
  return %0 : tensor<2x50000xf32>
}

// -----

// Tables of positions are computed once.
// CHECK-LABEL: func.func @tables
// CHECK-COUNT-1: rt.kernel @kernel_0()
// CHECK-NOT: rt.kernel @kernel_0()
// CHECK: return
func.func @tables(%x: tensor<8x4x8xf32>, %y: tensor<8x4x8xf32>) -> (tensor<8x4x8xf32>, tensor<8x4x8xf32>) {
  %0 = nn.rope %x dim 0 theta 1.0e4 : tensor<8x4x8xf32>
  %1 = nn.rope %y dim 0 theta 1.0e4 : tensor<8x4x8xf32>
  return %0, %1 : tensor<8x4x8xf32>, tensor<8x4x8xf32>
}

// -----

dist.mesh @mesh ["tp"=2]

// Collectives keep their order, whatever is fused around them; a scalar is an
// operand.
// CHECK-LABEL: func.func @order
// CHECK: %[[O:.*]] = dist.axis_offset
// CHECK: dist.all_reduce <max>
// CHECK: dist.all_reduce <sum>
// CHECK: rt.kernel @{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[O]])
func.func @order(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %m = dist.all_reduce <max> %x over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %s = dist.all_reduce <sum> %x over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = nn.mask_padding %x dim 0 size 7 value 0.0 : f32 offset %o : tensor<4x8xf32>
  %1 = arith.addf %0, %s : tensor<4x8xf32>
  %2 = arith.mulf %1, %m : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @mesh ["tp"=2]

// The second collective follows the first, which reads the first kernel's result:
// a reader of the second is not in that kernel, although there is no data
// dependence between them.
// CHECK-LABEL: func.func @order_between_kernels
// CHECK: %[[A:.*]] = rt.kernel @kernel_[[FIRST:[0-9]+]](%arg0)
// CHECK: %[[S:.*]] = dist.all_reduce <sum> %[[A]]
// CHECK: %[[M:.*]] = dist.all_reduce <max> %arg0
// CHECK: rt.kernel @kernel_{{[0-9]+}}({{.*}}%[[M]]
func.func @order_between_kernels(%x: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %0 = nn.silu %x : tensor<64x8xf32>
  %s = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<64x8xf32> -> tensor<64x8xf32>
  %m = dist.all_reduce <max> %x over <{"tp"}> on @mesh : tensor<64x8xf32> -> tensor<64x8xf32>
  %1 = arith.mulf %0, %m : tensor<64x8xf32>
  return %s, %1 : tensor<64x8xf32>, tensor<64x8xf32>
}
