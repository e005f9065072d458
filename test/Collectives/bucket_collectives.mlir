// RUN: tessera-opt %s --dist-bucket-collectives --remarks-filter='partition.*' --remark-policy=all -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tessera-opt %s --dist-bucket-collectives="max-bytes=0" | FileCheck %s --check-prefix=OFF
// RUN: tessera-opt %s --dist-bucket-collectives="max-bytes=100" | FileCheck %s --check-prefix=SMALL
// RUN: tessera-opt %s --dist-bucket-collectives | tessera-opt | FileCheck %s
// OFF-NOT: dist.bucket

// A gather takes a microsecond plus its bytes over x, 1.7 over y, 3 over both.
dist.mesh @mesh ["x"=2, "y"=4] {dist.links = [
  [array<f64: 2.0, 3.3e-7, 1.0e11>], [array<f64: 4.0, 3.3e-7, 1.0e11>],
  array<f64: 7.0e-7, 7.0e-7, 1.0, 1.0>]}

// Two gradients and a scalar. A reader of one of them moves after the bucket.
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT: %[[A:.*]] = arith.negf %arg0
// CHECK-NEXT: %[[B:.*]] = arith.negf %arg1
// CHECK-NEXT: %[[R:.*]]:3 = dist.bucket(%arg2, %[[A]], %[[B]]) : (tensor<f32>, tensor<16xf32>, tensor<8x4xf32>) -> (tensor<f32>, tensor<16xf32>, tensor<8x4xf32>) {
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<f32>, %[[Q:.*]]: tensor<16xf32>, %{{.*}}: tensor<8x4xf32>):
// CHECK-NEXT: dist.all_reduce <sum> %[[P]] over <{"y"}>
// CHECK-NEXT: dist.all_reduce <sum> %[[Q]] over <{"y"}>
// CHECK-NEXT: dist.all_reduce
// CHECK-NEXT: dist.yield
// CHECK: %[[S:.*]] = math.absf %[[R]]#1
// CHECK-NEXT: return %[[R]]#0, %[[S]], %[[R]]#2
// REMARK-DAG: [Passed] BucketCollectives {{.*}}Bytes=196, Members=3, Remark="dist.all_reduce done as one", us=3.683000e+00, usLess=4.360000e+00
// At 100 bytes per bucket the scalar and the first gradient form a bucket.
// SMALL-LABEL: func.func @gradients
// SMALL: dist.bucket(%arg2, %{{.*}}) : (tensor<f32>, tensor<16xf32>)
func.func @gradients(%a: tensor<16xf32>, %b: tensor<8x4xf32>, %c: tensor<f32>)
    -> (tensor<f32>, tensor<16xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = arith.negf %a : tensor<16xf32>
  %1 = dist.all_reduce <sum> %0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %2 = math.absf %1 : tensor<16xf32>
  %3 = arith.negf %b : tensor<8x4xf32>
  %4 = dist.all_reduce <sum> %3 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %5 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<f32> -> tensor<f32>
  return %5, %2, %4 : tensor<f32>, tensor<16xf32>, tensor<8x4xf32>
}

// Other axes, another reduction, another type, another kind: no bucket.
// CHECK-LABEL: func.func @unlike
// CHECK-NOT: dist.bucket
// CHECK: return
func.func @unlike(%a: tensor<16xf32>, %b: tensor<16xbf16>)
    -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xbf16>, tensor<4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %1 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %2 = dist.all_reduce <max> %a over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %3 = dist.all_reduce <sum> %b over <{"y"}> on @mesh : tensor<16xbf16> -> tensor<16xbf16>
  %4 = dist.reduce_scatter <sum> %a dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xbf16>, tensor<4xf32>
}

// Dependent collectives form no bucket, however many ops are between them: the
// first two are merged, the last, which needs one of them, is not.
// CHECK-LABEL: func.func @chain
// CHECK: %[[R:.*]]:2 = dist.bucket
// CHECK: %[[N:.*]] = arith.negf %[[R]]#0
// CHECK: %[[M:.*]] = math.absf %[[N]]
// CHECK: dist.all_reduce <sum> %[[M]]
// REMARK-DAG: [Missed] BucketCollectives {{.*}}Reason="one needs the result of another", Remark="dist.all_reduce begins another bucket"
func.func @chain(%a: tensor<16xf32>, %b: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %1 = arith.negf %0 : tensor<16xf32>
  %2 = math.absf %1 : tensor<16xf32>
  %3 = dist.all_reduce <sum> %2 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  %4 = dist.all_reduce <sum> %b over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
  return %3, %4 : tensor<16xf32>, tensor<16xf32>
}

// Shards along other dimensions form one reduce-scatter. Over two devices it
// has one step, which takes no longer than to start a copy: nothing is gained.
// CHECK-LABEL: func.func @scatter
// CHECK: dist.bucket
// CHECK: dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"y"}>
// CHECK: dist.reduce_scatter <sum> %{{.*}} dim 1 over <{"y"}>
// CHECK: return
// CHECK-LABEL: func.func @scatter_two
// CHECK-NOT: dist.bucket
// CHECK: return
// REMARK-DAG: [Missed] BucketCollectives {{.*}}Reason="waiting for the last one, or the copies, takes longer than another collective", Remark="dist.reduce_scatter begins another bucket"
func.func @scatter(%a: tensor<16xf32>, %b: tensor<8x4xf32>, %c: tensor<16xf32>)
    -> (tensor<4xf32>, tensor<8x1xf32>, tensor<4xf32>) attributes {dist.local} {
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<4xf32>
  %1 = dist.reduce_scatter <sum> %b dim 1 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<8x1xf32>
  %2 = dist.reduce_scatter <sum> %c dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8x1xf32>, tensor<4xf32>
}
func.func @scatter_two(%a: tensor<16xf32>, %b: tensor<8x4xf32>)
    -> (tensor<8xf32>, tensor<8x2xf32>) attributes {dist.local} {
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"x"}> on @mesh : tensor<16xf32> -> tensor<8xf32>
  %1 = dist.reduce_scatter <sum> %b dim 1 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x2xf32>
  return %0, %1 : tensor<8xf32>, tensor<8x2xf32>
}

// Arguments that are not parameters are gathered where they are used; tensors that
// the step has computed are gathered in one bucket.
// CHECK-LABEL: func.func @gathers
// CHECK: dist.all_gather %arg0
// CHECK: dist.all_gather %arg1
// CHECK: dist.bucket(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dist.all_gather
func.func @gathers(%a: tensor<16xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<64xf32>
  %1 = dist.all_gather %b dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<64xf32>
  %2 = arith.addf %a, %b : tensor<16xf32>
  %3 = arith.subf %a, %b : tensor<16xf32>
  %4 = arith.subf %c, %b : tensor<16xf32>
  %5 = dist.all_gather %2 dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<64xf32>
  %6 = dist.all_gather %3 dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<64xf32>
  %7 = dist.all_gather %4 dim 0 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<64xf32>
  return %0, %1, %5, %6, %7 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Collectives of each micro-batch form one bucket per micro-batch.
// CHECK-LABEL: func.func @micro_batches
// CHECK: dist.accumulate
// CHECK: dist.bucket
func.func @micro_batches(%a: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {dist.local} {
  %0:2 = dist.accumulate 4 (%a) : (tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%b: tensor<16xf32>):
    %1 = arith.negf %b : tensor<16xf32>
    %2 = dist.all_reduce <sum> %1 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
    %3 = math.absf %b : tensor<16xf32>
    %4 = dist.all_reduce <sum> %3 over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
    dist.yield %2, %4 : tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

// A computation of 34 us between the two: waiting for the second would cost the
// time in which the first overlaps with it.
// CHECK-LABEL: func.func @late
// CHECK: dist.all_reduce
// CHECK: nn.einsum
// CHECK: dist.all_reduce
// CHECK-NOT: dist.bucket
// CHECK: return
func.func @late(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) attributes {dist.local} {
  %0 = arith.negf %a : tensor<1024x1024xf32>
  %1 = dist.all_reduce <sum> %0 over <{"y"}> on @mesh : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %2 = nn.einsum "mk,kn->mn" %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %3 = dist.all_reduce <sum> %2 over <{"y"}> on @mesh : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  return %1, %3 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// Parameters of a layer that are used one after the other are gathered together,
// at the first use: small ones, so that the buffer and the copies out of it take
// no more memory than the largest gathered tensor.
// CHECK-LABEL: func.func @layers
// CHECK-NEXT: %[[A:.*]]:2 = dist.bucket(%arg0, %arg2) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: %[[S:.*]] = arith.mulf %[[A]]#0, %arg6
// CHECK-NEXT: %[[W:.*]] = dist.all_gather %arg1
// CHECK-NEXT: %[[P:.*]] = nn.einsum "d,de->e" %[[S]], %[[W]]
// CHECK-NEXT: arith.addf %[[P]], %[[A]]#1
// The next layer, and the same one again, start a new bucket.
// CHECK: %[[B:.*]]:2 = dist.bucket(%arg3, %arg4)
// CHECK: arith.mulf %{{.*}}, %[[B]]#0
// CHECK: arith.addf %{{.*}}, %[[B]]#1
// CHECK: %[[C:.*]]:2 = dist.bucket(%arg3, %arg4)
// CHECK: arith.mulf %{{.*}}, %[[C]]#0
// CHECK: arith.addf %{{.*}}, %[[C]]#1
// CHECK-NEXT: %[[T:.*]] = dist.all_gather %arg5
// CHECK-NEXT: arith.addf %{{.*}}, %[[T]]
// CHECK-NOT: dist.bucket
// CHECK: return
// REMARK-DAG: [Passed] BucketCollectives {{.*}}Bytes=64, Members=2, Remark="dist.all_gather done as one"
func.func @layers(%g: tensor<8xf32> {nn.param = "blocks.0.norm"}, %w: tensor<8x64xf32> {nn.param = "blocks.0.w"},
    %b: tensor<8xf32> {nn.param = "blocks.0.bias"}, %h: tensor<8xf32> {nn.param = "blocks.1.norm"},
    %c: tensor<8xf32> {nn.param = "blocks.1.bias"}, %t: tensor<8xf32> {nn.param = "final.norm"},
    %x: tensor<64xf32>) -> tensor<64xf32> attributes {dist.local} {
  %0 = dist.all_gather %g dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %1 = arith.mulf %0, %x : tensor<64xf32>
  %2 = dist.all_gather %w dim 0 over <{"x", "y"}> on @mesh : tensor<8x64xf32> -> tensor<64x64xf32>
  %3 = nn.einsum "d,de->e" %1, %2 : tensor<64xf32>, tensor<64x64xf32> -> tensor<64xf32>
  %4 = dist.all_gather %b dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %5 = arith.addf %3, %4 : tensor<64xf32>
  %6 = dist.all_gather %h dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %7 = arith.mulf %5, %6 : tensor<64xf32>
  %8 = dist.all_gather %c dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %9 = arith.addf %7, %8 : tensor<64xf32>
  %10 = dist.all_gather %h dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %11 = arith.mulf %9, %10 : tensor<64xf32>
  %12 = dist.all_gather %c dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %13 = arith.addf %11, %12 : tensor<64xf32>
  %14 = dist.all_gather %t dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %15 = arith.addf %13, %14 : tensor<64xf32>
  return %15 : tensor<64xf32>
}

// Casts before a gather move to the bucket. A gather along another axis, of a
// tensor that is gathered later, does not move forward.
// CHECK-LABEL: func.func @cast_first
// CHECK-NEXT: arith.truncf %arg0
// CHECK-NEXT: arith.truncf %arg1
// CHECK-NEXT: arith.truncf %arg2
// CHECK-NEXT: %[[A:.*]]:3 = dist.bucket({{.*}}) : (tensor<16xbf16>, tensor<16xbf16>, tensor<16xbf16>)
// CHECK: dist.all_gather %[[A]]#0 {{.*}}<{"x"}>
// CHECK-NEXT: math.absf
// CHECK-NEXT: dist.all_gather %[[A]]#1 {{.*}}<{"x"}>
// CHECK-NEXT: dist.all_gather %arg3 {{.*}}<{"y"}>
// CHECK-NEXT: return {{.*}}, %[[A]]#2
func.func @cast_first(%g: tensor<16xf32> {nn.param = "blocks.0.norm"}, %b: tensor<16xf32> {nn.param = "blocks.0.bias"},
    %c: tensor<16xf32> {nn.param = "blocks.0.shift"}, %w: tensor<64x64xbf16> {nn.param = "blocks.0.w"})
    -> (tensor<128xbf16>, tensor<128xbf16>, tensor<64xbf16>, tensor<256x64xbf16>) attributes {dist.local} {
  %0 = arith.truncf %g : tensor<16xf32> to tensor<16xbf16>
  %1 = dist.all_gather %0 dim 0 over <{"y"}> on @mesh : tensor<16xbf16> -> tensor<64xbf16>
  %2 = dist.all_gather %1 dim 0 over <{"x"}> on @mesh : tensor<64xbf16> -> tensor<128xbf16>
  %3 = math.absf %2 : tensor<128xbf16>
  %4 = arith.truncf %b : tensor<16xf32> to tensor<16xbf16>
  %5 = dist.all_gather %4 dim 0 over <{"y"}> on @mesh : tensor<16xbf16> -> tensor<64xbf16>
  %6 = dist.all_gather %5 dim 0 over <{"x"}> on @mesh : tensor<64xbf16> -> tensor<128xbf16>
  %7 = arith.truncf %c : tensor<16xf32> to tensor<16xbf16>
  %8 = dist.all_gather %7 dim 0 over <{"y"}> on @mesh : tensor<16xbf16> -> tensor<64xbf16>
  %9 = dist.all_gather %w dim 0 over <{"y"}> on @mesh : tensor<64x64xbf16> -> tensor<256x64xbf16>
  return %3, %6, %8, %9 : tensor<128xbf16>, tensor<128xbf16>, tensor<64xbf16>, tensor<256x64xbf16>
}

// Two layers whose norms are gathered in two levels, with a permute between: no
// second level waits for the next layer's second level, since both layers'
// weights would then be live. Within a layer each level is one bucket.
// CHECK-LABEL: func.func @two_levels
// CHECK: %[[G:.*]]:2 = dist.bucket(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dist.all_gather {{.*}}<{"x", "y"}>
// CHECK: %[[P:.*]] = dist.collective_permute %[[G]]#0
// CHECK-NEXT: %[[Q:.*]] = dist.collective_permute %[[G]]#1
// CHECK-NEXT: %[[H:.*]]:2 = dist.bucket(%[[P]], %[[Q]])
// CHECK: dist.all_gather {{.*}}<{"x", "y"}>
// CHECK: arith.mulf %{{.*}}, %[[H]]#0
// CHECK: dist.all_gather %arg2
// CHECK: nn.einsum
// CHECK: arith.addf %{{.*}}, %[[H]]#1
// CHECK-NEXT: dist.all_gather %arg3
// CHECK-NEXT: dist.collective_permute
// CHECK-NEXT: dist.all_gather
// CHECK: dist.all_gather %arg4
// CHECK: nn.einsum
func.func @two_levels(%g: tensor<1xf32> {nn.param = "blocks.0.norm"}, %b: tensor<1xf32> {nn.param = "blocks.0.bias"},
    %v: tensor<8x64xf32> {nn.param = "blocks.0.w"}, %h: tensor<1xf32> {nn.param = "blocks.1.norm"},
    %w: tensor<8x64xf32> {nn.param = "blocks.1.w"}, %x: tensor<64xf32>) -> tensor<64xf32> attributes {dist.local} {
  %0 = dist.all_gather %g dim 0 over <{"x", "y"}> on @mesh : tensor<1xf32> -> tensor<8xf32>
  %1 = dist.collective_permute %0 targets [1, 2, 3, 0, 5, 6, 7, 4] over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  %2 = dist.all_gather %1 dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %3 = arith.mulf %x, %2 : tensor<64xf32>
  %4 = dist.all_gather %v dim 0 over <{"x", "y"}> on @mesh : tensor<8x64xf32> -> tensor<64x64xf32>
  %5 = nn.einsum "d,de->e" %3, %4 : tensor<64xf32>, tensor<64x64xf32> -> tensor<64xf32>
  %6 = dist.all_gather %b dim 0 over <{"x", "y"}> on @mesh : tensor<1xf32> -> tensor<8xf32>
  %7 = dist.collective_permute %6 targets [1, 2, 3, 0, 5, 6, 7, 4] over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  %8 = dist.all_gather %7 dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %9 = arith.addf %5, %8 : tensor<64xf32>
  %10 = dist.all_gather %h dim 0 over <{"x", "y"}> on @mesh : tensor<1xf32> -> tensor<8xf32>
  %11 = dist.collective_permute %10 targets [1, 2, 3, 0, 5, 6, 7, 4] over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  %12 = dist.all_gather %11 dim 0 over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<64xf32>
  %13 = arith.mulf %9, %12 : tensor<64xf32>
  %14 = dist.all_gather %w dim 0 over <{"x", "y"}> on @mesh : tensor<8x64xf32> -> tensor<64x64xf32>
  %15 = nn.einsum "d,de->e" %13, %14 : tensor<64xf32>, tensor<64x64xf32> -> tensor<64xf32>
  return %15 : tensor<64xf32>
}

// The reader of the first sum also reads 256 bytes, which the bucket would keep
// live: more than 100 such bytes prevent a bucket.
// CHECK-LABEL: func.func @kept
// CHECK: dist.bucket(
// SMALL-LABEL: func.func @kept
// SMALL-NOT: dist.bucket
// SMALL: return
func.func @kept(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<64xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {dist.local} {
  %0 = math.absf %c : tensor<64xf32>
  %1 = dist.all_reduce <sum> %a over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  %2 = tensor.concat dim(0) %1, %0 : (tensor<8xf32>, tensor<64xf32>) -> tensor<72xf32>
  %3 = tensor.extract_slice %2[4] [8] [1] : tensor<72xf32> to tensor<8xf32>
  %4 = arith.negf %b : tensor<8xf32>
  %5 = dist.all_reduce <sum> %4 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return %3, %5 : tensor<8xf32>, tensor<8xf32>
}
