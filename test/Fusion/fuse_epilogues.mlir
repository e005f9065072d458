// RUN: tessera-opt %s --pass-pipeline='builtin.module(rt-set-target{target=cuda},func.func(rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise,rt-fuse-epilogues))' | FileCheck %s
// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise,rt-fuse-epilogues))' | FileCheck %s --check-prefix=HOST
// HOST-NOT: rt.matmul_fused
// RUN: tessera-opt %s --pass-pipeline='builtin.module(rt-set-target{target=cuda},func.func(rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise,rt-fuse-epilogues))' --remarks-filter=conversion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Passed] FuseEpilogue {{.*}}Columns=32, Reason=bias, Rows=16

dist.mesh @mesh ["tp"=2]

// The bias of heads: its dimensions are the columns.
// CHECK-LABEL: func.func @bias(
// CHECK: %[[Y:.*]] = rt.matmul_fused <bias> %arg0, %arg1 <{{.*}}> bias %arg2 : tensor<4x8xbf16> : tensor<16x24xbf16>, tensor<24x4x8xbf16> -> tensor<16x4x8xbf16>
// CHECK: return %[[Y]]
func.func @bias(%x: tensor<16x24xbf16>, %w: tensor<24x4x8xbf16>, %b: tensor<4x8xbf16>) -> tensor<16x4x8xbf16> {
  %0 = nn.einsum "sd,dhk->shk" %x, %w : tensor<16x24xbf16>, tensor<24x4x8xbf16> -> tensor<16x4x8xbf16>
  %1 = nn.broadcast %b dims [1, 2] : tensor<4x8xbf16> -> tensor<16x4x8xbf16>
  %2 = arith.addf %0, %1 : tensor<16x4x8xbf16>
  return %2 : tensor<16x4x8xbf16>
}

// A bias of rows, or of a part of the columns, is not an epilogue.
// CHECK-LABEL: func.func @no_bias(
// CHECK-NOT: rt.matmul_fused
func.func @no_bias(%x: tensor<16x24xf32>, %w: tensor<24x4x8xf32>, %b: tensor<16xf32>, %c: tensor<8xf32>) -> (tensor<16x4x8xf32>, tensor<16x4x8xf32>) {
  %0 = nn.einsum "sd,dhk->shk" %x, %w : tensor<16x24xf32>, tensor<24x4x8xf32> -> tensor<16x4x8xf32>
  %1 = nn.broadcast %b dims [0] : tensor<16xf32> -> tensor<16x4x8xf32>
  %2 = arith.addf %0, %1 : tensor<16x4x8xf32>
  %3 = nn.einsum "sd,dhk->shk" %x, %w : tensor<16x24xf32>, tensor<24x4x8xf32> -> tensor<16x4x8xf32>
  %4 = nn.broadcast %c dims [2] : tensor<8xf32> -> tensor<16x4x8xf32>
  %5 = arith.addf %3, %4 : tensor<16x4x8xf32>
  return %2, %5 : tensor<16x4x8xf32>, tensor<16x4x8xf32>
}

// GELU, whose argument the backward reads, and its gradient; the bias gradient
// is computed with the weight gradient.
// CHECK-LABEL: func.func @gelu(
// CHECK: %[[Y:.*]], %[[X:.*]] = rt.matmul_fused <gelu> %arg0, %arg1 <{{.*}}> bias %arg2 : tensor<32xbf16> : {{.*}} -> tensor<16x32xbf16> extra tensor<16x32xbf16>
// CHECK: %[[DX:.*]] = rt.matmul_fused <gelu_gradient> %arg3, %arg4 <{{.*}}> argument %[[X]] : tensor<16x32xbf16> : {{.*}} -> tensor<16x32xbf16>
// CHECK: %[[DW:.*]], %[[DB:.*]] = rt.matmul_fused <rhs_sums> %arg0, %[[DX]] <{{.*}}> : {{.*}} -> tensor<24x32xf32> extra tensor<32xf32>
// CHECK: return %[[Y]], %[[DB]], %[[DW]]
func.func @gelu(%x: tensor<16x24xbf16>, %w: tensor<24x32xbf16>, %b: tensor<32xbf16>, %g: tensor<16x8xbf16>, %v: tensor<32x8xbf16>) -> (tensor<16x32xbf16>, tensor<32xf32>, tensor<24x32xf32>) {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.broadcast %b dims [1] : tensor<32xbf16> -> tensor<16x32xbf16>
  %2 = arith.addf %0, %1 : tensor<16x32xbf16>
  %3 = nn.gelu <tanh> %2 : tensor<16x32xbf16>
  %4 = nn.einsum "sd,fd->sf" %g, %v : tensor<16x8xbf16>, tensor<32x8xbf16> -> tensor<16x32xbf16>
  %5 = nn.gelu_backward <tanh> %4, %2 : tensor<16x32xbf16>
  %6 = arith.extf %5 : tensor<16x32xbf16> to tensor<16x32xf32>
  %7 = nn.reduce <sum> %6 dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %8 = nn.einsum "sd,sf->df" %x, %5 : tensor<16x24xbf16>, tensor<16x32xbf16> -> tensor<24x32xf32>
  return %3, %7, %8 : tensor<16x32xbf16>, tensor<32xf32>, tensor<24x32xf32>
}

// In f32, with nothing to keep: one op. GELU by erf is another function.
// CHECK-LABEL: func.func @gelu_alone(
// CHECK: rt.matmul_fused <gelu> %arg0, %arg1 <{{.*}}> bias %arg2 : tensor<32xf32> : {{.*}} -> tensor<16x32xf32>{{$}}
// CHECK: rt.matmul_fused <gelu> %arg0, %arg1 <{{.*}}> : {{.*}} -> tensor<16x32xf32>{{$}}
// CHECK: %[[E:.*]] = rt.matmul_fused <bias> %arg0, %arg1
// CHECK: linalg.generic {{.*}} ins(%[[E]]
// CHECK: math.erf
// CHECK: %[[S:.*]] = rt.matmul_fused <bias> %arg0, %arg1
// CHECK: linalg.generic {{.*}} ins(%[[S]]
func.func @gelu_alone(%x: tensor<16x24xf32>, %w: tensor<24x32xf32>, %b: tensor<32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %1 = nn.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %p = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %p1 = arith.addf %1, %p : tensor<16x32xf32>
  %p2 = nn.gelu <tanh> %p1 : tensor<16x32xf32>
  %q = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %q2 = nn.gelu <tanh> %q : tensor<16x32xf32>
  %r = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %r1 = arith.addf %r, %1 : tensor<16x32xf32>
  %r2 = nn.gelu <erf> %r1 : tensor<16x32xf32>
  %s = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %s1 = arith.addf %s, %1 : tensor<16x32xf32>
  %s2 = nn.silu %s1 : tensor<16x32xf32>
  return %p2, %q2, %r1, %r2, %s1, %s2 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}

// A residual with other uses: the matmul reads it instead of a kernel.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[S:.*]] = rt.matmul_fused <bias> %arg0, %arg1 <{{.*}}> init %arg3 : tensor<16x32xbf16> bias %arg2 : tensor<32xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[S]]
func.func @residual(%x: tensor<16x24xbf16>, %w: tensor<24x32xbf16>, %b: tensor<32xbf16>, %r: tensor<16x32xbf16>, %gain: tensor<32xbf16>) -> (tensor<16x32xbf16>, tensor<16x32xbf16>) {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.broadcast %b dims [1] : tensor<32xbf16> -> tensor<16x32xbf16>
  %2 = arith.addf %0, %1 : tensor<16x32xbf16>
  %3 = arith.addf %r, %2 : tensor<16x32xbf16>
  %4 = nn.rms_norm %3, %gain eps 1.0e-5 : tensor<16x32xbf16>, tensor<32xbf16>
  return %3, %4 : tensor<16x32xbf16>, tensor<16x32xbf16>
}

// A residual that only the norm reads stays within its kernel.
// CHECK-LABEL: func.func @residual_within(
// CHECK-NOT: rt.matmul_fused
func.func @residual_within(%x: tensor<16x24xbf16>, %w: tensor<24x32xbf16>, %r: tensor<16x32xbf16>, %gain: tensor<32xbf16>) -> tensor<16x32xbf16> {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %3 = arith.addf %r, %0 : tensor<16x32xbf16>
  %4 = nn.rms_norm %3, %gain eps 1.0e-5 : tensor<16x32xbf16>, tensor<32xbf16>
  return %4 : tensor<16x32xbf16>
}

// Matmuls that are added: each adds to the one before, in bf16 too.
// CHECK-LABEL: func.func @three(
// CHECK: %[[A:.*]] = rt.matmul %arg0, %arg1
// CHECK: %[[B:.*]] = rt.matmul_fused <none> %arg2, %arg3 <{{.*}}> init %[[A]] : tensor<16x32xbf16>
// CHECK: %[[C:.*]] = rt.matmul_fused <none> %arg4, %arg5 <{{.*}}> init %[[B]] : tensor<16x32xbf16>
// CHECK: return %[[C]]
func.func @three(%a: tensor<16x24xbf16>, %u: tensor<24x32xbf16>, %b: tensor<16x24xbf16>, %v: tensor<24x32xbf16>, %c: tensor<16x24xbf16>, %w: tensor<24x32xbf16>) -> tensor<16x32xbf16> {
  %0 = nn.einsum "sd,df->sf" %a, %u : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.einsum "sd,df->sf" %b, %v : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %2 = nn.einsum "sd,df->sf" %c, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %3 = arith.addf %0, %1 : tensor<16x32xbf16>
  %4 = arith.addf %3, %2 : tensor<16x32xbf16>
  return %4 : tensor<16x32xbf16>
}

// A kernel adds two tensors and a matmul, or a matmul with other uses.
// CHECK-LABEL: func.func @too_many(
// CHECK-NOT: rt.matmul_fused
func.func @too_many(%x: tensor<16x24xf32>, %w: tensor<24x32xf32>, %r: tensor<16x32xf32>, %s: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %1 = arith.addf %r, %s : tensor<16x32xf32>
  %2 = arith.addf %0, %1 : tensor<16x32xf32>
  %3 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %4 = arith.addf %3, %r : tensor<16x32xf32>
  return %2, %3, %4 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}

// Partial matmuls are reduced between devices before the bias.
// CHECK-LABEL: func.func @reduced_between(
// CHECK-NOT: rt.matmul_fused
func.func @reduced_between(%x: tensor<16x24xf32>, %w: tensor<24x32xf32>, %b: tensor<32xf32>) -> tensor<16x32xf32> attributes {dist.local} {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf32>, tensor<24x32xf32> -> tensor<16x32xf32>
  %r = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<16x32xf32> -> tensor<16x32xf32>
  %1 = nn.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %2 = arith.addf %r, %1 : tensor<16x32xf32>
  return %2 : tensor<16x32xf32>
}

// Column sums of either operand; if they are read before the matmul, it moves
// before their reader.
// CHECK-LABEL: func.func @sums(
// CHECK: %[[P:.*]], %[[SX:.*]] = rt.matmul_fused <lhs_sums> %arg0, %arg1 <{{.*}}> : {{.*}} -> tensor<24x32xf32> extra tensor<24xf32>
// CHECK: %[[E:.*]] = math.exp
// CHECK-NOT: rt.matmul
// CHECK: return %[[P]],
func.func @sums(%x: tensor<16x24xbf16>, %g: tensor<16x32xbf16>) -> (tensor<24x32xf32>, tensor<24xf32>) {
  %0 = arith.extf %x : tensor<16x24xbf16> to tensor<16x24xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<16x24xf32> -> tensor<24xf32>
  %2 = math.exp %1 : tensor<24xf32>
  %3 = nn.einsum "sd,sf->df" %x, %g : tensor<16x24xbf16>, tensor<16x32xbf16> -> tensor<24x32xf32>
  return %3, %2 : tensor<24x32xf32>, tensor<24xf32>
}

// Not if the matmul needs a result of the sums, not sums of rows, not of
// squares, not sums with an initial value.
// CHECK-LABEL: func.func @no_sums(
// CHECK-NOT: rt.matmul_fused
func.func @no_sums(%x: tensor<16x24xf32>, %y: tensor<24xf32>, %g: tensor<16x32xf32>) -> (tensor<32xf32>, tensor<24x32xf32>, tensor<16xf32>, tensor<32xf32>) {
  %0 = nn.reduce <sum> %g dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %1 = math.exp %0 : tensor<32xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<32xf32> -> tensor<f32>
  %3 = nn.broadcast %2 dims [] : tensor<f32> -> tensor<16x24xf32>
  %4 = arith.mulf %x, %3 : tensor<16x24xf32>
  %5 = nn.einsum "sd,sf->df" %4, %g : tensor<16x24xf32>, tensor<16x32xf32> -> tensor<24x32xf32>
  %6 = nn.reduce <sum> %g dims [1] : tensor<16x32xf32> -> tensor<16xf32>
  %7 = arith.mulf %g, %g : tensor<16x32xf32>
  %8 = nn.reduce <sum> %7 dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  return %1, %5, %6, %8 : tensor<32xf32>, tensor<24x32xf32>, tensor<16xf32>, tensor<32xf32>
}

// A kernel that computes the tensor also computes its sums; for a tensor from a
// library call the matmul does.
// CHECK-LABEL: func.func @carried(
// CHECK: %[[T:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic {{.*}}"reduction", "parallel"]} ins(%[[T]]
// CHECK: rt.matmul %arg0, %[[T]]
// CHECK: rt.matmul_fused <rhs_sums> %arg0, %{{.*}} extra tensor<32xf32>
func.func @carried(%x: tensor<8192x24xf32>, %g: tensor<8192x32xf32>, %u: tensor<32x32xf32>) -> (tensor<24x32xf32>, tensor<32xf32>, tensor<24x32xf32>, tensor<32xf32>) {
  %0 = math.exp %g : tensor<8192x32xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8192x32xf32> -> tensor<32xf32>
  %2 = nn.einsum "sd,sf->df" %x, %0 : tensor<8192x24xf32>, tensor<8192x32xf32> -> tensor<24x32xf32>
  %3 = nn.einsum "sf,fe->se" %g, %u : tensor<8192x32xf32>, tensor<32x32xf32> -> tensor<8192x32xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<8192x32xf32> -> tensor<32xf32>
  %5 = nn.einsum "sd,sf->df" %x, %3 : tensor<8192x24xf32>, tensor<8192x32xf32> -> tensor<24x32xf32>
  return %2, %1, %5, %4 : tensor<24x32xf32>, tensor<32xf32>, tensor<24x32xf32>, tensor<32xf32>
}

// The matmul that computes the tensor sums it if there is no weight gradient.
// CHECK-LABEL: func.func @sums_of_result(
// CHECK: %[[DX:.*]], %[[DB:.*]] = rt.matmul_fused <gelu_gradient> %arg0, %arg1 <{{.*}}> argument %arg2 : tensor<16x32xf32> : {{.*}} -> tensor<16x32xf32> extra tensor<32xf32>
// CHECK: return %[[DX]], %[[DB]]
func.func @sums_of_result(%g: tensor<16x8xf32>, %v: tensor<32x8xf32>, %x: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<32xf32>) {
  %0 = nn.einsum "sd,fd->sf" %g, %v : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  %1 = nn.gelu_backward <tanh> %0, %x : tensor<16x32xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  return %1, %2 : tensor<16x32xf32>, tensor<32xf32>
}

// No epilogue for f64 and for batches.
// CHECK-LABEL: func.func @plain(
// CHECK-NOT: rt.matmul_fused
func.func @plain(%x: tensor<16x24xf64>, %w: tensor<24x32xf64>, %b: tensor<32xf64>, %p: tensor<3x16x24xf32>, %q: tensor<3x24x32xf32>, %c: tensor<32xf32>) -> (tensor<16x32xf64>, tensor<3x16x32xf32>) {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xf64>, tensor<24x32xf64> -> tensor<16x32xf64>
  %1 = nn.broadcast %b dims [1] : tensor<32xf64> -> tensor<16x32xf64>
  %2 = arith.addf %0, %1 : tensor<16x32xf64>
  %3 = nn.einsum "bsd,bdf->bsf" %p, %q : tensor<3x16x24xf32>, tensor<3x24x32xf32> -> tensor<3x16x32xf32>
  %4 = nn.broadcast %c dims [2] : tensor<32xf32> -> tensor<3x16x32xf32>
  %5 = arith.addf %3, %4 : tensor<3x16x32xf32>
  return %2, %5 : tensor<16x32xf64>, tensor<3x16x32xf32>
}

// Sums without a column are not an epilogue.
// CHECK-LABEL: func.func @no_columns(
// CHECK: linalg.generic
// CHECK-NOT: rt.matmul_fused
func.func @no_columns(%x: tensor<16x0xf32>) -> tensor<0xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<16x0xf32> -> tensor<0xf32>
  return %0 : tensor<0xf32>
}
