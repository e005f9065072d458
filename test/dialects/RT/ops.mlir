// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// CHECK-LABEL: func.func private @scale(
// CHECK-SAME: attributes {rt.kernel, rt.reuse = array<i64: 0, 0>, rt.rows = 8 : i64}
func.func private @scale(%x: tensor<8x16xf32>, %o: index) -> tensor<8x16xf32>
    attributes {rt.kernel, rt.rows = 8 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @scaled(
func.func @scaled(%x: tensor<8x16xf8E4M3FN>, %w: tensor<16x4xf8E5M2>, %s: tensor<f32>, %i: tensor<8x4xf32>) {
  // CHECK: rt.scaled_matmul %{{.*}}, %{{.*}} scales %{{.*}}, %{{.*}} <{{.*}}> init %{{.*}} : tensor<8x4xf32> : tensor<8x16xf8E4M3FN>, tensor<16x4xf8E5M2> -> tensor<8x4xf32>
  %0 = rt.scaled_matmul %x, %w scales %s, %s <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4,
      ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %i : tensor<8x4xf32>
      : tensor<8x16xf8E4M3FN>, tensor<16x4xf8E5M2> -> tensor<8x4xf32>
  return
}

// Records on tensors.
// CHECK-LABEL: func.func @records(
func.func @records(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>,
                   %q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>,
                   %l: tensor<2x8x4x1xf32>, %ids: tensor<8xi32>, %o: index,
                   %starts: tensor<2x8xi32>) {
  // CHECK: rt.matmul %{{.*}}, %{{.*}} <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
  %0 = rt.matmul %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4,
      ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
      trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  // CHECK: rt.attention causal scale 1.250000e-01 %{{.*}}, %{{.*}}, %{{.*}} offsets %{{.*}}, %{{.*}} :
  %1 = rt.attention causal scale 0.125 %q, %k, %k offsets %o, %o
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
      -> tensor<2x8x4x1x64xf32>
  // CHECK: rt.attention causal window 5 scale 1.250000e-01 %{{.*}}, %{{.*}}, %{{.*}} :
  %2 = rt.attention causal window 5 scale 0.125 %q, %k, %k
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
      -> tensor<2x8x4x1x64xf32>
  // CHECK: rt.matmul %{{.*}}, %{{.*}} <{{.*}}> init %{{.*}} : tensor<8x4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %7 = rt.matmul %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4,
      ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
      trans_b = 0> init %0 : tensor<8x4xf32>
      : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  // CHECK: rt.attention scale 1.250000e-01 keys 6 {{.*}} -> tensor<2x8x4x1x64xf32> stats tensor<2x8x4x1xf32>
  %8:2 = rt.attention scale 0.125 keys 6 %q, %k, %k
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
      -> tensor<2x8x4x1x64xf32> stats tensor<2x8x4x1xf32>
  // CHECK: rt.attention_backward causal window 5 scale 1.250000e-01 keys 6 {{.*}} offsets %{{.*}}, %{{.*}} : tensor<2x8x4x1x64xf32>,
  %9:3 = rt.attention_backward causal window 5 scale 0.125 keys 6 %q, %q, %k, %k, %q, %l offsets %o, %o
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
        tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
      -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  // CHECK: rt.attention causal scale 1.250000e-01 %{{.*}}, %{{.*}}, %{{.*}} offsets %{{.*}}, %{{.*}} starts %{{.*}} : tensor<2x8xi32> :
  %12 = rt.attention causal scale 0.125 %q, %k, %k offsets %o, %o starts %starts : tensor<2x8xi32>
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
      -> tensor<2x8x4x1x64xf32>
  // CHECK: rt.attention_backward causal scale 1.250000e-01 {{.*}} starts %{{.*}} : tensor<2x8xi32> : tensor<2x8x4x1x64xf32>,
  %13:3 = rt.attention_backward causal scale 0.125 %q, %q, %k, %k, %q, %l starts %starts : tensor<2x8xi32>
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
        tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
      -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  // Results in f32 of bf16 operands.
  %qh = tensor.empty() : tensor<2x8x4x1x64xbf16>
  %kh = tensor.empty() : tensor<2x8x4x64xbf16>
  // CHECK: rt.attention scale 1.250000e-01 %{{.*}} : tensor<2x8x4x1x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16> -> tensor<2x8x4x1x64xf32>
  %14 = rt.attention scale 0.125 %qh, %kh, %kh
      : tensor<2x8x4x1x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16>
      -> tensor<2x8x4x1x64xf32>
  // CHECK: rt.attention_backward scale 1.250000e-01 {{.*}} -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  %15:3 = rt.attention_backward scale 0.125 %qh, %qh, %kh, %kh, %qh, %l
      : tensor<2x8x4x1x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16>,
        tensor<2x8x4x1x64xbf16>, tensor<2x8x4x1xf32>
      -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  // CHECK: rt.embedding_backward %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  %10 = rt.embedding_backward %x, %ids : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  // CHECK: rt.embedding_backward %{{.*}}, %{{.*}} offset %{{.*}} init %{{.*}} : tensor<64x16xf32> :
  %11 = rt.embedding_backward %x, %ids offset %o init %10 : tensor<64x16xf32>
      : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  // CHECK: rt.embedding_backward replace %{{.*}}, %{{.*}} limit 61 init %{{.*}} : tensor<64x16xf32> :
  %16 = rt.embedding_backward replace %x, %ids limit 61 init %10 : tensor<64x16xf32>
      : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  // CHECK: rt.copy %{{.*}} strides [1, 16] base 0 :
  %3 = rt.copy %x strides [1, 16] base 0 : tensor<8x16xf32> -> tensor<16x8xf32>
  // CHECK: rt.copy %{{.*}} strides [16, 1] base 0 start %{{.*}} dim 0 :
  %4 = rt.copy %x strides [16, 1] base 0 start %o dim 0
      : tensor<8x16xf32> -> tensor<4x16xf32>
  // CHECK: rt.concat %{{.*}}, %{{.*}} dim 0 :
  %5 = rt.concat %x, %4 dim 0
      : tensor<8x16xf32>, tensor<4x16xf32> -> tensor<12x16xf32>
  // CHECK: rt.assemble %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}} dim 1 :
  %assembled = rt.assemble %x, %x at %o, %o dim 1
      : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
  // CHECK: rt.kernel @scale(%{{.*}}, %{{.*}}) {rt.offsets = array<i64: 512>} :
  %6 = rt.kernel @scale(%x, %o) {rt.offsets = array<i64: 512>}
      : (tensor<8x16xf32>, index) -> tensor<8x16xf32>
  return
}

// CHECK-LABEL: func.func private @loops(
func.func private @loops(%x: memref<128xf32>, %i: index, %begin: index, %end: index)
    attributes {rt.kernel} {
  return
}

// Calls on offsets.
// CHECK-LABEL: func.func @step() attributes {rt.arena_bytes = 8192 : i64, rt.step}
func.func @step() attributes {rt.step, rt.arena_bytes = 8192 : i64} {
  // CHECK: %[[O:.*]] = rt.axis_offset [1, 2] size 64 : index
  %o = rt.axis_offset [1, 2] size 64 : index
  // CHECK: rt.launch @loops rows 8 grain 4 at [0] with %[[O]]
  rt.launch @loops rows 8 grain 4 at [0] with %o
  // CHECK: rt.call_copy 4 [16, 8] from 0 [1, 16] to 4096 [8, 1]
  rt.call_copy 4 [16, 8] from 0 [1, 16] to 4096 [8, 1]
  // CHECK: rt.call_copy 4 [4, 8] from 0 [16, 1] to 4096 [8, 1] start %[[O]] dim 0
  rt.call_copy 4 [4, 8] from 0 [16, 1] to 4096 [8, 1] start %o dim 0
  // CHECK: rt.read_flag 4096 : i1
  %flag = rt.read_flag 4096 : i1
  // CHECK: rt.state_fence
  rt.state_fence
  // CHECK: rt.call_fill 4 count 64 bits 0 to 4096
  rt.call_fill 4 count 64 bits 0 to 4096
  // CHECK: rt.call_scaled_matmul accumulate <batch = 1, {{.*}}> [f8E4M3FN, f8E5M2, f32] at [0, 64, 128, 192, 256]
  rt.call_scaled_matmul accumulate <batch = 1, m = 8, n = 4, k = 16, lda = 16,
      ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
      trans_b = 0> [f8E4M3FN, f8E5M2, f32] at [0, 64, 128, 192, 256]
  // CHECK: rt.call_matmul <batch = 1, {{.*}}> bf16 -> f32 at [0, 4096, 8192]
  rt.call_matmul <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4,
      stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
      bf16 -> f32 at [0, 4096, 8192]
  // CHECK: rt.call_attention causal window 5 scale 1.250000e-01 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3] offsets %[[O]], %[[O]]
  rt.call_attention causal window 5 scale 0.125 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
      at [0, 1, 2, 3] offsets %o, %o
  // CHECK: rt.call_attention causal scale 1.250000e-01 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3] starts 4096 offsets %[[O]], %[[O]]
  rt.call_attention causal scale 0.125 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
      at [0, 1, 2, 3] starts 4096 offsets %o, %o
  // CHECK: rt.block_begin 4096 bytes 256 forget
  rt.block_begin 4096 bytes 256 forget
  // CHECK: rt.block_end 4096 bytes 256{{$}}
  rt.block_end 4096 bytes 256
  // CHECK: rt.call_matmul accumulate <batch = 1, {{.*}}> f32 -> f32 at [0, 4096, 8192]
  rt.call_matmul accumulate <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4,
      ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0,
      trans_b = 0> f32 -> f32 at [0, 4096, 8192]
  // CHECK: rt.call_attention scale 1.250000e-01 keys 6 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3, 4]
  rt.call_attention scale 0.125 keys 6 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
      at [0, 1, 2, 3, 4]
  // CHECK: rt.call_attention_backward causal scale 1.250000e-01 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3, 4, 5, 6, 7, 8] offsets %[[O]], %[[O]]
  rt.call_attention_backward causal scale 0.125 f32 -> f32 [2, 8, 8, 4, 1, 64, 64]
      at [0, 1, 2, 3, 4, 5, 6, 7, 8] offsets %o, %o
  // CHECK: rt.call_embedding_backward accumulate bf16, i32 -> f32 [16, 64, 32] at [0, 2048, 4096] offset %[[O]]
  rt.call_embedding_backward accumulate bf16, i32 -> f32 [16, 64, 32]
      at [0, 2048, 4096] offset %o
  // CHECK: rt.call_embedding_backward replace f32, i32 -> f32 [16, 64, 32] at [0, 2048, 4096]
  rt.call_embedding_backward replace f32, i32 -> f32 [16, 64, 32] at [0, 2048, 4096]
  // CHECK: rt.all_gather_start slot 0 sequence 0 over [1, 2] outer 2 inner 8 from 0 to 64 : f32
  rt.all_gather_start slot 0 sequence 0 over [1, 2] outer 2 inner 8 from 0 to 64 : f32
  // CHECK: rt.reduce_scatter_start slot 1 sequence 1 over [1, 2] reduction 0 outer 2 inner 8 from 0 to 64 : f32
  rt.reduce_scatter_start slot 1 sequence 1 over [1, 2] reduction 0 outer 2 inner 8 from 0 to 64 : f32
  // CHECK: rt.all_reduce_start slot 2 sequence 2 over [1, 2] reduction 1 count 8 from 0 to 0 : f32
  rt.all_reduce_start slot 2 sequence 2 over [1, 2] reduction 1 count 8 from 0 to 0 : f32
  // CHECK: rt.all_to_all_start slot 3 sequence 3 over [1, 2] shape [4, 2] split 0 concat 1 from 0 to 64 : f32
  rt.all_to_all_start slot 3 sequence 3 over [1, 2] shape [4, 2] split 0 concat 1 from 0 to 64 : f32
  // CHECK: rt.permute_start slot 4 sequence 4 over [1, 2] pairs [0, 1, 1, 0] count 8 from 0 to 64 : f32
  rt.permute_start slot 4 sequence 4 over [1, 2] pairs [0, 1, 1, 0] count 8 from 0 to 64 : f32
  // CHECK: rt.broadcast_start slot 5 sequence 5 over [1, 2] root 0 count 8 from 0 to 64 : f32
  rt.broadcast_start slot 5 sequence 5 over [1, 2] root 0 count 8 from 0 to 64 : f32
  // CHECK: rt.send_start slot 6 sequence 6 over [1, 2] peer 1 tag 7 count 8 from 0 : f32
  rt.send_start slot 6 sequence 6 over [1, 2] peer 1 tag 7 count 8 from 0 : f32
  // CHECK: rt.recv_start slot 7 sequence 7 over [1, 2] peer 0 tag 7 count 8 to 64 : f32
  rt.recv_start slot 7 sequence 7 over [1, 2] peer 0 tag 7 count 8 to 64 : f32
  // CHECK: rt.wait slot 0
  rt.wait slot 0
  return
}

// A pipeline whose tasks are functions, and its list as calls.
// CHECK-LABEL: func.func private @pipeline_F0
// CHECK-SAME: rt.place = #rt.place<batch 0>
// CHECK-SAME: rt.place = #rt.place<captured 0>
// CHECK-SAME: rt.place = #rt.place<sum 0>
// CHECK-SAME: rt.task = #rt.task<0 0>
func.func private @pipeline_F0(%t: tensor<16xf32> {rt.place = #rt.place<batch 0>},
    %w: tensor<4xf32> {rt.place = #rt.place<captured 0>},
    %s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<0 0>} {
  return %t : tensor<16xf32>
}
func.func @pipeline(%t: tensor<2x16xf32>, %w: tensor<4xf32>, %z: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: rt.pipeline paths {{\[\[}}0]] micro_batches 2 list "F0.0 F0.1" tasks [@pipeline_F0] batch(%{{.*}}) captured(%{{.*}}) init(%{{.*}}) : (tensor<2x16xf32>, tensor<4xf32>, tensor<16xf32>) -> tensor<16xf32>
  %s = rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1" tasks [@pipeline_F0]
      batch(%t) captured(%w) init(%z)
      : (tensor<2x16xf32>, tensor<4xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}
func.func private @list_F0() attributes {rt.step, rt.segments = array<i64: 0>} {
  return
}
func.func @list() {
  // CHECK: rt.run_list tasks [@list_F0] axis [1, 2] entries [0, 0, 0, 0, 0, 0]
  rt.run_list tasks [@list_F0] axis [1, 2] entries [0, 0, 0, 0, 0, 0]
  return
}
