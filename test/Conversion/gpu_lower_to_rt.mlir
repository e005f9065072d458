// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(rt-set-target{target=cuda},func.func(dist-expand-accumulate,rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise,rt-split-reductions),rt-outline-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt{program=test})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// The printed form parses again.
// RUN: tessera-opt %t.mlir --split-input-file -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir

// Elementwise ops: a flat grid, 16 bytes per thread, 8 elements of bf16.
// CHECK: module attributes {rt.manifest = "{{.*}}\22target\22:\22cuda\22{{.*}}", rt.target = "cuda"}
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @kernel_0(%[[X:[a-z0-9]+]]: memref<8192xbf16>, %[[Y:[a-z0-9]+]]: memref<8192xbf16>) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK-NOT: scf.if
// CHECK: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : memref<8192xbf16>, vector<8xbf16>
// CHECK: math.exp
// CHECK: vector.store {{.*}}, %[[Y]]{{.*}} {alignment = 16 : i64} : memref<8192xbf16>, vector<8xbf16>
// CHECK-LABEL: func.func @step()
// CHECK-NEXT: rt.launch_device @kernels::@kernel_0 number 0 grid 4 block 256 shared 0 at [0, 16384]
func.func @silu(%x: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = nn.silu %x : tensor<64x128xbf16>
  return %0 : tensor<64x128xbf16>
}

// -----

// A row of 64 f32: 16 threads of 4 elements, 8 rows in a block of 128. Sums go
// over the 16 lanes in registers; values between the ops stay in registers.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @kernel_0(%[[X:[a-z0-9]+]]: memref<6400xf32>, %[[Y:[a-z0-9]+]]: memref<6400xf32>)
// The last block has rows beyond the end: they repeat the last row.
// CHECK: %[[HAS:.*]] = arith.cmpi ult
// CHECK: arith.select %[[HAS]]
// CHECK-COUNT-1: vector.load %[[X]]
// CHECK-NOT: vector.load
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: math.exp
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: scf.if %[[HAS]]
// CHECK: vector.from_elements
// CHECK: vector.store {{.*}}, %[[Y]]
// CHECK: gpu.return
// CHECK: rt.launch_device @kernels::@kernel_0 number 0 grid 13 block 128 shared 0 at
func.func @softmax(%x: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %0 = nn.softmax %x dim 1 : tensor<100x64xf32>
  return %0 : tensor<100x64xf32>
}

// -----

// A long row has its own block, which loops over it; a warp's sum goes through
// shared memory, and the row between two ops, too long for that, is a result.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @kernel_0(%[[X:[a-z0-9]+]]: memref<12288000xf32>, %{{.*}}: memref<12288000xf32>, %{{.*}}: memref<12288000xf32>) kernel attributes {known_block_size = array<i32: 512, 1, 1>}
// CHECK: gpu.dynamic_shared_memory
// CHECK: scf.for
// CHECK: vector.load %[[X]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.view
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: rt.launch_device @kernels::@kernel_0 number 0 grid 300 block 512 shared
func.func @long_softmax(%x: tensor<300x40960xf32>) -> tensor<300x40960xf32> {
  %0 = nn.softmax %x dim 1 : tensor<300x40960xf32>
  return %0 : tensor<300x40960xf32>
}

// -----

// Rows of 33 elements have no aligned vectors.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: vector.load
// CHECK: memref.load
// CHECK: rt.launch_device @kernels::@kernel_0 number 0 grid 5 block 64 shared
func.func @odd(%x: tensor<5x33xf32>) -> tensor<5x33xf32> {
  %0 = nn.softmax %x dim 1 : tensor<5x33xf32>
  return %0 : tensor<5x33xf32>
}

// -----

// In place: one pointer for both, in a separate variant.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @kernel_0(%{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32>) kernel
// CHECK: gpu.func @kernel_0_0_over_0(%{{.*}}: memref<32xf32>) kernel
// CHECK: rt.launch_device @kernels::@kernel_0 number 0 grid 1 block 32 shared 0 at [256, [[A:[0-9]+]]]
// CHECK: rt.launch_device @kernels::@kernel_0_0_over_0 number 1 grid 1 block 32 shared 0 at {{\[}}[[B:[0-9]+]]]
func.func @in_place(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.silu %x : tensor<4x8xf32>
  %1 = nn.einsum "sd,df->sf" %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = nn.silu %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
