// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// #rt.matmul
// expected-error @+1 {{(C1) expects sizes of at least 1 but got 0}}
#l = #rt.matmul<batch = 1, m = 0, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>

// -----

// expected-error @+1 {{(C2) expects ldb of at least 4 but got 3}}
#l = #rt.matmul<batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 3, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>

// -----

// expected-error @+1 {{(C3) expects trans_a and trans_b 0 or 1 but got 2}}
#l = #rt.matmul<batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 2, trans_b = 0>

// -----

// rt.matmul
func.func @matmul_types(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) {
  // expected-error @+1 {{(C1) expects operands of one type f32, bf16, f16 or f64 and a result of it or of f32 but got 'f32', 'f32' and 'f64'}}
  %0 = rt.matmul %a, %b <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf64>
  return
}

// -----

func.func @matmul_outside(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) {
  // expected-error @+1 {{(C2) expects a layout within the lhs of 128 elements but it reaches 240}}
  %0 = rt.matmul %a, %b <batch = 1, m = 8, n = 4, k = 16, lda = 32, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @matmul_uncovered(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) {
  // expected-error @+1 {{(C3) expects to cover the result of 32 elements but covers 28}}
  %0 = rt.matmul %a, %b <batch = 1, m = 7, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// rt.attention
func.func @attention_type(%q: tensor<2x8x4x1x64xf64>, %k: tensor<2x8x4x64xf64>) {
  // expected-error @+1 {{(C1) expects f32 or bf16 but got 'f64'}}
  %0 = rt.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x64xf64>, tensor<2x8x4x64xf64>, tensor<2x8x4x64xf64> -> tensor<2x8x4x1x64xf64>
  return
}

// -----

func.func @attention_shapes(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x32xf32>) {
  // expected-error @+1 {{(C2) expects shapes that agree}}
  %0 = rt.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x64xf32>, tensor<2x8x4x32xf32>, tensor<2x8x4x32xf32> -> tensor<2x8x4x1x32xf32>
  return
}

// -----

func.func @attention_starts(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>, %s: tensor<8xi32>) {
  // expected-error @+1 {{(C2) expects starts of 'tensor<2x8xi32>' but got 'tensor<8xi32>'}}
  %0 = rt.attention scale 1.0 %q, %k, %k starts %s : tensor<8xi32> : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32> -> tensor<2x8x4x1x64xf32>
  return
}

// -----

func.func @attention_offsets(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>, %o: index) {
  // expected-error @+1 {{(C3) expects two offsets or none but got 1}}
  %0 = rt.attention scale 1.0 %q, %k, %k offsets %o : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32> -> tensor<2x8x4x1x64xf32>
  return
}

// -----

// rt.copy
func.func @copy_strides(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{(C1) expects 2 strides but got 1}}
  %0 = rt.copy %x strides [1] base 0 : tensor<8x16xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @copy_types(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{(C2) expects one element type but got 'f32' and 'f64'}}
  %0 = rt.copy %x strides [1, 16] base 0 : tensor<8x16xf32> -> tensor<16x8xf64>
  return
}

// -----

func.func @copy_outside(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{(C3) expects elements 0 to 127 to be read but reads 1 to 128}}
  %0 = rt.copy %x strides [1, 16] base 1 : tensor<8x16xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @copy_dim(%x: tensor<8x16xf32>, %o: index) {
  // expected-error @+1 {{(C4) expects a dimension of 'tensor<4x16xf32>' but got 2}}
  %0 = rt.copy %x strides [16, 1] base 0 start %o dim 2 : tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @copy_rank(%x: tensor<1xf32>) {
  // expected-error @+1 {{(C5) expects at most 8 dimensions but got 9}}
  %0 = rt.copy %x strides [0, 0, 0, 0, 0, 0, 0, 0, 0] base 0 : tensor<1xf32> -> tensor<1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

// rt.concat
func.func @concat_types(%x: tensor<8x16xf32>, %y: tensor<8x16xf64>) {
  // expected-error @+1 {{(C1) expects operands of the result's element type and rank}}
  %0 = rt.concat %x, %y dim 0 : tensor<8x16xf32>, tensor<8x16xf64> -> tensor<16x16xf32>
  return
}

// -----

func.func @concat_sizes(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{(C2) expects sizes that add up to 17 in dimension 0 but got 16}}
  %0 = rt.concat %x, %x dim 0 : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<17x16xf32>
  return
}

// -----

// rt.kernel
func.func private @plain(%x: tensor<8xf32>) -> tensor<8xf32>
func.func @kernel_unmarked(%x: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects a function marked rt.kernel but got @plain}}
  %0 = rt.kernel @plain(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel}
func.func @kernel_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C2) expects the types of @k}}
  %0 = rt.kernel @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// rt.launch
func.func private @k(%x: memref<8xf32>, %b: index, %e: index) attributes {rt.kernel}
func.func @launch_arguments() {
  // expected-error @+1 {{(C1) expects 1 offsets and scalars for @k but got 2}}
  rt.launch @k rows 8 grain 1 at [0, 64]
  return
}

// -----

func.func private @k(%x: memref<8xf32>, %b: index, %e: index) attributes {rt.kernel}
func.func @launch_rows() {
  // expected-error @+1 {{(C2) expects rows and grain of at least 1 but got 8 and 0}}
  rt.launch @k rows 8 grain 0 at [0]
  return
}

// -----

// rt.axis_offset
func.func @axis_offset() {
  // expected-error @+1 {{(C1) expects pairs of a stride and a size}}
  %0 = rt.axis_offset [1] size 4 : index
  return
}

// -----

// rt.call_copy
func.func @call_copy_strides() {
  // expected-error @+1 {{(C1) expects as many strides as sizes, at most 8, but got 1 and 2 for 2}}
  rt.call_copy 4 [16, 8] from 0 [1] to 4096 [8, 1]
  return
}

// -----

func.func @call_copy_dim(%o: index) {
  // expected-error @+1 {{(C2) expects one of 2 dimensions but got 2}}
  rt.call_copy 4 [16, 8] from 0 [1, 16] to 4096 [8, 1] start %o dim 2
  return
}

// -----

// rt.scaled_matmul
func.func @scaled_matmul_types(%a: tensor<8x16xf8E4M3FN>, %b: tensor<16x4xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{(C1) expects operands of f8E4M3FN or f8E5M2 and a result of bf16 or f32 but got 'f8E4M3FN', 'bf16' and 'bf16'}}
  %0 = rt.scaled_matmul %a, %b scales %s, %s <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf8E4M3FN>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  return
}

// -----

func.func @scaled_matmul_outside(%a: tensor<8x16xf8E4M3FN>, %b: tensor<16x4xf8E5M2>, %s: tensor<f32>) {
  // expected-error @+1 {{(C2) expects a layout within the lhs of 128 elements but it reaches}}
  %0 = rt.scaled_matmul %a, %b scales %s, %s <batch = 1, m = 8, n = 4, k = 16, lda = 32, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf8E4M3FN>, tensor<16x4xf8E5M2> -> tensor<8x4xf32>
  return
}

// -----

// rt.call_scaled_matmul
func.func @call_scaled_matmul() {
  // expected-error @+1 {{(C1) expects three types and five offsets but got 2 and 3}}
  rt.call_scaled_matmul <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> [f8E4M3FN, f32] at [0, 64, 128]
  return
}

// -----

// rt.call_matmul
func.func @call_matmul() {
  // expected-error @+1 {{(C1) expects three offsets but got 2}}
  rt.call_matmul <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> f32 -> f32 at [0, 64]
  return
}

// -----

// rt.call_attention
func.func @call_attention() {
  // expected-error @+1 {{(C1) expects seven sizes and 5 offsets, or one less, but got 6 and 4}}
  rt.call_attention scale 1.0 f32 -> f32 [2, 8, 8, 4, 1, 64] at [0, 1, 2, 3]
  return
}

// -----

func.func @call_attention_offsets(%o: index) {
  // expected-error @+1 {{(C2) expects two position offsets or none but got 1}}
  rt.call_attention scale 1.0 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3] offsets %o
  return
}

// -----

// Discardable attributes.
// expected-error @+1 {{rt.offsets: expects 1 offsets but got array<i64>}}
func.func @offsets(%x: tensor<8xf32>) attributes {rt.offsets = array<i64>} {
  return
}

// -----

// expected-error @+1 {{rt.reuse: expects pairs of a result and an argument}}
func.func private @reuse(%x: tensor<8xf32>) attributes {rt.reuse = array<i64: 0, 0>}

// -----

func.func @misplaced() {
  // expected-error @+1 {{expects no attribute 'rt.rows' on an operation; it belongs on a function}}
  %c = arith.constant {rt.rows = 1 : i64} 0 : index
  return
}

// -----

// rt.matmul with an init, rt.attention with a stat, their gradients
func.func @C4_init(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %i: tensor<8x4xf32>) {
  // expected-error @+1 {{(C4) expects an init of 'tensor<4x8xf32>' but got 'tensor<8x4xf32>'}}
  %c = rt.matmul %a, %b <batch = 1, m = 4, n = 8, k = 16, lda = 16, ldb = 8, ldc = 8, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %i : tensor<8x4xf32> : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @C4_stats(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>) {
  // expected-error @+1 {{(C4) expects one stat or none but got 2}}
  %0:3 = rt.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32> -> tensor<2x8x4x1x64xf32> stats tensor<2x8x4x1xf32>, tensor<2x8x4x1xf32>
  return
}

// -----

func.func @C2_stat(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>, %s: tensor<2x4x1x8xf32>) {
  // expected-error @+1 {{(C2) expects a stat of 'tensor<2x8x4x1xf32>' but got 'tensor<2x4x1x8xf32>'}}
  %0:3 = rt.attention_backward scale 1.0 %q, %q, %k, %k, %q, %s : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x1x64xf32>, tensor<2x4x1x8xf32> -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  return
}

// -----

func.func @C1_narrow_result(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>) {
  // expected-error @+1 {{(C1) expects a result of 'f32' or f32 but got 'bf16'}}
  %0 = rt.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32> -> tensor<2x8x4x1x64xbf16>
  return
}

// -----

func.func @C2_gradient(%q: tensor<2x8x4x1x64xbf16>, %k: tensor<2x8x4x64xbf16>, %s: tensor<2x8x4x1xf32>) {
  // expected-error @+1 {{(C2) expects a gradient of 'tensor<2x8x4x64xf32>' but got 'tensor<2x8x4x64xbf16>'}}
  %0:3 = rt.attention_backward scale 1.0 %q, %q, %k, %k, %q, %s : tensor<2x8x4x1x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x1x64xbf16>, tensor<2x8x4x1xf32> -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xf32>
  return
}

// -----

// rt.embedding_backward
func.func @C1_types(%g: tensor<8x16xf32>, %i: tensor<8xi8>) {
  // expected-error @+1 {{(C1) expects f32, bf16 or f64 by ids of i32 or i64 but got 'f32' to 'f32' by 'i8'}}
  %0 = rt.embedding_backward %g, %i : tensor<8x16xf32>, tensor<8xi8> -> tensor<64x16xf32>
  return
}

// -----

func.func @C2_rows(%g: tensor<8x16xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{(C2) expects a row of grad for each id but got 'tensor<8x16xf32>' for 'tensor<8xi32>' and rows of 'tensor<64x8xf32>'}}
  %0 = rt.embedding_backward %g, %i : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x8xf32>
  return
}

// -----

func.func @C3_init(%g: tensor<8x16xf32>, %i: tensor<8xi32>, %t: tensor<32x16xf32>) {
  // expected-error @+1 {{(C3) expects an init of 'tensor<64x16xf32>' but got 'tensor<32x16xf32>'}}
  %0 = rt.embedding_backward %g, %i init %t : tensor<32x16xf32> : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  return
}

// -----

func.func @C4_replace(%g: tensor<8x16xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{(C4) expects an init whose rows are replaced}}
  %0 = rt.embedding_backward replace %g, %i : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
  return
}

// -----

// rt.call_attention_backward
func.func @C1_offsets() {
  // expected-error @+1 {{(C1) expects seven sizes and 9 offsets but got 7 and 8}}
  rt.call_attention_backward scale 1.0 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3, 4, 5, 6, 7]
  return
}

// -----

func.func @C2_positions(%o: index) {
  // expected-error @+1 {{(C2) expects two position offsets or none but got 1}}
  rt.call_attention_backward scale 1.0 f32 -> f32 [2, 8, 8, 4, 1, 64, 64] at [0, 1, 2, 3, 4, 5, 6, 7, 8] offsets %o
  return
}

// -----

// rt.call_embedding_backward
func.func @C1_embedding_sizes() {
  // expected-error @+1 {{(C1) expects three sizes and three offsets but got 2 and 3}}
  rt.call_embedding_backward f32, i32 -> f32 [16, 64] at [0, 2048, 4096]
  return
}

// -----

func.func @C2_embedding_mode() {
  // expected-error @+1 {{(C2) expects accumulate or replace but got both}}
  rt.call_embedding_backward accumulate replace f32, i32 -> f32 [16, 64, 32] at [0, 2048, 4096]
  return
}

// -----

//===----------------------------------------------------------------------===//
// rt.launch_device
//===----------------------------------------------------------------------===//

gpu.module @kernels {
  gpu.func @a(%x: memref<8xf32>) kernel { gpu.return }
}
func.func @device_name() {
  // expected-error @below {{'rt.launch_device' op (C1) expects a function of @kernels but got @kernels::@b}}
  rt.launch_device @kernels::@b number 0 grid 1 block 32 shared 0 at [0]
  return
}

// -----

gpu.module @kernels {
  gpu.func @a(%x: memref<8xf32>) kernel { gpu.return }
}
func.func @device_number() {
  // expected-error @below {{'rt.launch_device' op (C1) expects number 0 for @kernels::@a but got 1}}
  rt.launch_device @kernels::@a number 1 grid 1 block 32 shared 0 at [0]
  return
}

// -----

gpu.module @kernels {
  gpu.func @a(%x: memref<8xf32>) kernel { gpu.return }
}
func.func @device_arguments() {
  // expected-error @below {{'rt.launch_device' op (C1) expects 1 offsets and scalars for @kernels::@a but got 2}}
  rt.launch_device @kernels::@a number 0 grid 1 block 32 shared 0 at [0, 64]
  return
}

// -----

func.func @device_block() {
  // expected-error @below {{'rt.launch_device' op (C2) expects a block of 1 to 1024 but got 2048}}
  rt.launch_device @kernels::@a number 0 grid 1 block 2048 shared 0 at [0]
  return
}

// -----

// expected-error @below {{rt.target: expects "host", "cuda" or "cuda-emulated" on a module but got "rocm"}}
module attributes {rt.target = "rocm"} {}

// -----

// rt.assemble
func.func @C1_starts(%x: tensor<2x4xf32>, %o: index) {
  // expected-error @+1 {{(C1) expects a start for each chunk but got 1 for 2}}
  %r = rt.assemble %x, %x at %o dim 0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @C2_assembled(%x: tensor<2x4xf32>, %o: index) {
  // expected-error @+1 {{(C2) expects chunks of one type and a result of all of them along dimension 1 but got 'tensor<2x4xf32>' and 'tensor<4x4xf32>'}}
  %r = rt.assemble %x, %x at %o, %o dim 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @no_flag(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  // expected-error @+1 {{rt.while: expects a unit attribute on a loop that carries a tensor<i1> first but got unit}}
  %0 = scf.for %j = %i to %i step %i iter_args(%y = %x) -> (tensor<4xf32>) {
    scf.yield %y : tensor<4xf32>
  } {rt.while}
  return %0 : tensor<4xf32>
}

// -----

// rt.pipeline
func.func @C1_no_task(%t: tensor<2x16xf32>) {
  // expected-error @+1 {{(C1) expects functions marked rt.task but got @C1_no_task}}
  rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1" tasks [@C1_no_task]
      batch(%t) captured() init() : (tensor<2x16xf32>) -> ()
  return
}

// -----

func.func private @task(%t: tensor<16xf32>) attributes {rt.task = #rt.task<0 0>} {
  return
}
func.func @C1_no_place(%t: tensor<2x16xf32>) {
  // expected-error @+1 {{(C1) expects an rt.place for each argument of @task but got none for 0}}
  rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1" tasks [@task]
      batch(%t) captured() init() : (tensor<2x16xf32>) -> ()
  return
}

// -----

func.func private @task(%t: tensor<16xf32> {rt.place = #rt.place<batch 1>}) attributes {rt.task = #rt.task<0 0>} {
  return
}
func.func @C1_place(%t: tensor<2x16xf32>) {
  // expected-error @+1 {{(C1) expects an rt.place below 1 for argument 0 of @task but got #rt.place<batch 1>}}
  rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1" tasks [@task]
      batch(%t) captured() init() : (tensor<2x16xf32>) -> ()
  return
}

// -----

func.func @C2_init(%t: tensor<16xf32>) {
  // expected-error @+1 {{(C2) expects an init for each result, of its type, but got 'tensor<16xf32>' and 'tensor<8xf32>'}}
  %0 = rt.pipeline paths [[0]] micro_batches 2 list "F0.0 F0.1" tasks []
      batch() captured() init(%t) : (tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @C3_paths() {
  // expected-error @+1 {{(C3) expects paths of one length over pp ranks that are numbered from 0 but got [[0, 2]]}}
  rt.pipeline paths [[0, 2]] micro_batches 2 list "" tasks []
      batch() captured() init() : () -> ()
  return
}

// -----

func.func @C3_micro_batches() {
  // expected-error @+1 {{(C3) expects micro-batches that 2 paths divide but got 3}}
  rt.pipeline paths [[0, 1], [1, 0]] micro_batches 3 list "" tasks []
      batch() captured() init() : () -> ()
  return
}

// -----

// rt.run_list
func.func @C1_function() {
  // expected-error @+1 {{(C1) expects functions but got @none}}
  rt.run_list tasks [@none] axis [1, 2] entries []
  return
}

// -----

func.func @C2_axis() {
  // expected-error @+1 {{(C2) expects a stride and a size but got array<i64: 1>}}
  rt.run_list tasks [] axis [1] entries []
  return
}

// -----

// expected-error @+1 {{rt.task: expects a kind of 0 to 3 and a chunk but got #rt.task<4 0>}}
func.func private @kind() attributes {rt.task = #rt.task<4 0>} {
  return
}

// -----

// expected-error @+1 {{rt.beside: expects a BW, #rt.task<3 chunk>, of a function whose rt.task is an F but got #rt.task<2 0>}}
func.func private @beside() attributes {rt.task = #rt.task<0 0>, rt.beside = #rt.task<2 0>} {
  return
}

// -----

// expected-error @+1 {{rt.beside: expects a BW, #rt.task<3 chunk>, of a function whose rt.task is an F but got #rt.task<3 0>}}
func.func private @beside_b() attributes {rt.task = #rt.task<1 0>, rt.beside = #rt.task<3 0>} {
  return
}

// -----

// expected-error @+1 {{rt.beside: expects a unit attribute but got 1 : i64}}
func.func private @beside_argument(%t: tensor<16xf32> {rt.beside = 1 : i64}) {
  return
}

// -----

// expected-error @+1 {{rt.place: expects a place with an index of at least 0 but got #rt.place<batch -1>}}
func.func private @place(%t: tensor<16xf32> {rt.place = #rt.place<batch -1>}) {
  return
}

// -----

// expected-error @+1 {{rt.segments: expects integers but got 4}}
func.func private @segments() attributes {rt.segments = 4 : i64} {
  return
}
