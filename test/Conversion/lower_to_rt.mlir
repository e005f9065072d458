// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(dist-expand-accumulate,rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise),rt-outline-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt{program=test})' | FileCheck %s

// The manifest has the function's signature; a row of a kernel is a loop, a
// value within it a buffer of one row, a reduction a register.
// CHECK: module attributes {rt.manifest = "{{.*}}\22arena_bytes\22:256{{.*}}\22name\22:\22x\22{{.*}}\22role\22:\22param\22{{.*}}\22program\22:\22test\22{{.*}}\22ranks\22:1{{.*}}\22name\22:\22y\22
// CHECK-LABEL: func.func @step() attributes {rt.arena_bytes = 256 : i64, rt.step}
// CHECK-NEXT: rt.launch @kernel_0_loops rows 4 grain 4 at [0, 128]
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @kernel_0_loops(
// CHECK-SAME: %[[X:.*]]: memref<32xf32>, %[[Y:.*]]: memref<32xf32>, %[[B:.*]]: index, %[[E:.*]]: index) attributes {rt.kernel}
// CHECK: %[[ROW:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.for %[[R:.*]] = %[[B]] to %[[E]]
// CHECK: %[[MAX:.*]] = scf.for {{.*}} iter_args
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: memref.store {{.*}}, %[[ROW]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
// CHECK: memref.store {{.*}}, %[[Y]]
func.func @softmax(%x: tensor<4x8xf32> {nn.param = "x"}) -> (tensor<4x8xf32> {nn.output = "y"}) {
  %0 = nn.softmax %x dim 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A kernel that overwrites an operand has one argument for both.
// CHECK-LABEL: func.func @step()
// CHECK: rt.launch @kernel_0_loops rows 4 grain 4 at [256, [[A:[0-9]+]]]
// CHECK: rt.call_matmul {{.*}} at {{\[}}[[A]], 0, [[B:[0-9]+]]]
// CHECK: rt.launch @kernel_0_loops_0_over_0 rows 4 grain 4 at {{\[}}[[B]]]
// CHECK-LABEL: func.func private @kernel_0_loops(
// CHECK-SAME: memref<32xf32>, %{{.*}}: memref<32xf32>
// CHECK-LABEL: func.func private @kernel_0_loops_0_over_0(
// CHECK-SAME: %[[X:.*]]: memref<32xf32>, %{{.*}}: index, %{{.*}}: index)
func.func @in_place(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.silu %x : tensor<4x8xf32>
  %1 = nn.einsum "sd,df->sf" %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = nn.silu %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Collectives with the strides and sizes of their axes, sequence numbers in program order.
// The manifest has the shardings.
// CHECK: \22sharding\22:{{\[\[}}{\22size\22:2,\22stride\22:2}],[]]
// CHECK-LABEL: func.func @step()
// CHECK: %[[O:.*]] = rt.axis_offset [1, 2] size 4 : index
// CHECK: rt.all_gather_start slot 0 sequence 0 over [1, 2] outer 4 inner 8 from {{.*}} : f32
// CHECK: rt.wait slot 0
// CHECK: rt.reduce_scatter_start slot 0 sequence 1 over [1, 2] reduction 0 outer 1 inner 32 from
// CHECK: rt.wait slot 0
// CHECK: rt.all_to_all_start slot 0 sequence 2 over [2, 2] shape [2, 16] split 1 concat 0 from
// CHECK: rt.wait slot 0
// CHECK: rt.all_reduce_start slot 0 sequence 3 over [2, 2, 1, 2] reduction 1 count 32 from
// CHECK: rt.wait slot 0
// CHECK: rt.permute_start slot 0 sequence 4 over [1, 2] pairs [0, 1, 1, 0] count 32 from
// CHECK: rt.wait slot 0
// CHECK: rt.broadcast_start slot 0 sequence 5 over [1, 2] root 1 count 32 from
// CHECK: rt.wait slot 0
// CHECK: rt.call_copy 4 [4, 4] from {{.*}} [8, 1] to {{.*}} [4, 1] start %[[O]] dim 1
func.func @collectives(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>, dist.global_shape = array<i64: 7, 8>})
    -> tensor<4x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %x dim 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x16xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"tp"}> on @mesh : tensor<4x16xf32> -> tensor<2x16xf32>
  %2 = dist.all_to_all %1 gather 0 split 1 over <{"dp"}> on @mesh : tensor<2x16xf32> -> tensor<4x8xf32>
  %3 = dist.all_reduce <max> %2 over <{"dp", "tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = dist.collective_permute %3 targets [1, 0] over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = dist.broadcast %4 root 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %6 = dist.all_slice %5 dim 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["pp"=2]

// Only the two sides of a transfer take part; the others receive zeros.
// CHECK-LABEL: func.func @step()
// CHECK: %[[C:.*]] = rt.axis_offset [1, 2] size 1
// CHECK: scf.if
// CHECK-NEXT: rt.send_start slot 63 sequence 0 over [1, 2] peer 1 tag 7 count 8 from 0 : f32
// CHECK-NEXT: rt.wait slot 63
// CHECK: scf.if
// CHECK-NEXT: rt.recv_start slot 63 sequence 1 over [1, 2] peer 0 tag 7 count 8 to 64 : f32
// CHECK-NEXT: rt.wait slot 63
// CHECK-NEXT: } else {
// CHECK-NEXT: rt.call_fill 4 count 8 bits 0 to 64
func.func @transfer(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local} {
  dist.send %x along "pp" 0 to 1 tag 7 on @mesh : tensor<8xf32>
  %0 = dist.recv along "pp" 0 to 1 tag 7 on @mesh : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A sum of rows keeps the last dimension innermost: the accumulators are the
// result.
// CHECK-LABEL: func.func private @kernel_0_loops(
// CHECK-SAME: %[[X:.*]]: memref<32xf32>, %[[Y:.*]]: memref<8xf32>,
// CHECK: scf.for %[[R:.*]] =
// CHECK: scf.for %[[J:.*]] =
// CHECK: memref.store %{{.*}}, %[[Y]][%[[J]]]
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[OLD:.*]] = memref.load %[[Y]][%[[K]]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}}
// CHECK: memref.store %[[NEW]], %[[Y]][%[[K]]]
func.func @columns(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Micro-batches are a loop over calls; a sum has one offset, and a matmul
// adds to it there. The zeros that it starts with are not a table in the
// program.
// CHECK-NOT: memref.global
// CHECK-LABEL: func.func @step()
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: rt.launch @{{.*}} at {{\[}}[[SUM:[0-9]+]]]
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[C3]]
// CHECK-NEXT: rt.call_copy 4 [1, 4, 8] from 0 {{.*}} start %[[I]] dim 0
// CHECK-NEXT: rt.call_matmul accumulate {{.*}} at [{{[0-9]+}}, {{[0-9]+}}, [[SUM]]]
// CHECK-NEXT: }
// CHECK: rt.call_matmul accumulate {{.*}} at [{{[0-9]+}}, {{[0-9]+}}, [[SUM]]]
func.func @micro_batches(%x: tensor<4x4x8xf32>) -> tensor<8x8xf32> attributes {dist.local} {
  %0 = dist.accumulate 4 (%x) : (tensor<4x4x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%part: tensor<4x8xf32>):
    %g = nn.einsum "sa,sb->ab" %part, %part : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    dist.yield %g : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}

// -----

dist.mesh @mesh ["tp"=2]

// A reduction whose padding is masked with its neutral element ends before the
// padding, at 0 on a rank that has padding only, and needs no mask; a reduction
// that is masked with another number includes the padding.
// CHECK-LABEL: func.func @step()
// CHECK: rt.launch @kernel_1_loops
// CHECK: func.func private @kernel_0_loops(
// CHECK-SAME: , %[[O:[a-z0-9]*]]: index, %{{[a-z0-9]*}}: index, %{{[a-z0-9]*}}: index)
// CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[O]]
// CHECK: %[[C8:.*]] = arith.constant 8
// CHECK: %[[MOST:.*]] = arith.minsi %[[REST]], %[[C8]]
// CHECK: %[[END:.*]] = arith.maxsi %[[MOST]], %{{.*}}
// CHECK: scf.for %{{.*}} to %[[END]]
// CHECK-NOT: arith.cmpi
// CHECK: arith.maximumf
// CHECK-LABEL: func.func private @kernel_1_loops(
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = arith.constant 8
// CHECK: scf.for %{{.*}} to %[[ALL]]
// CHECK: arith.cmpi slt
// CHECK: arith.addf
func.func @masked(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {dist.local} {
  %o = dist.axis_offset <{"tp"}> size 8 on @mesh : index
  %0 = nn.mask_padding %x dim 1 size 13 value 0xFF800000 : f32 offset %o : tensor<4x8xf32>
  %1 = nn.reduce <max> %0 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = nn.mask_padding %x dim 1 size 13 value 1.0 : f32 offset %o : tensor<4x8xf32>
  %3 = nn.reduce <sum> %2 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
