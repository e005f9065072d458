// RUN: tessera-opt %s --split-input-file --rt-fuse-horizontally --rt-verify-kernels | FileCheck %s

// The norm of each gradient is small, and its update is a result: two launches,
// with the sum of the norms between them. An operand that is read twice is one
// argument; a result may overwrite an operand that only its own kernel reads.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[P:.*]]: tensor<8xf32>, %[[Q:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<8xf32>, %[[H:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[N:.*]]:2 = rt.kernel @batch_0(%[[G]], %[[H]])
// CHECK-NEXT: %[[S:.*]] = rt.kernel @total(%[[N]]#0, %[[N]]#1)
// CHECK-NEXT: %[[R:.*]]:2 = rt.kernel @batch_1(%[[P]], %[[G]], %[[S]], %[[Q]], %[[H]])
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
// CHECK-LABEL: func.func private @batch_0(
// CHECK-SAME: attributes {rt.batch, rt.kernel, rt.reuse = array<i64>}
// CHECK-DAG: rt.kernel @norm_8
// CHECK-DAG: rt.kernel @norm_4
// CHECK-LABEL: func.func private @batch_1(
// CHECK-SAME: attributes {rt.batch, rt.kernel, rt.reuse = array<i64: 0, 0, 1, 3>}
// CHECK-DAG: rt.kernel @update_8
// CHECK-DAG: rt.kernel @update_4
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#scalar = affine_map<() -> ()>
module attributes {rt.target = "cuda"} {
  func.func @step(%p: tensor<8xf32>, %q: tensor<4xf32>, %g: tensor<8xf32>, %h: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
    %0 = rt.kernel @norm_8(%g) : (tensor<8xf32>) -> tensor<f32>
    %1 = rt.kernel @norm_4(%h) : (tensor<4xf32>) -> tensor<f32>
    %2 = rt.kernel @total(%0, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = rt.kernel @update_8(%p, %g, %2) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = rt.kernel @update_4(%q, %h, %2) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %3, %4 : tensor<8xf32>, tensor<4xf32>
  }
  func.func private @norm_8(%x: tensor<8xf32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @norm_4(%x: tensor<4xf32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @total(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %e = tensor.empty() : tensor<f32>
    %r = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%x, %y : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @update_8(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<f32>) -> tensor<8xf32> attributes {rt.kernel, rt.rows = 8 : i64, rt.reuse = array<i64: 0, 0>} {
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #none, #id], iterator_types = ["parallel"]} ins(%x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %m = arith.mulf %b, %c : f32
      %s = arith.subf %a, %m : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @update_4(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> attributes {rt.kernel, rt.rows = 4 : i64, rt.reuse = array<i64: 0, 0>} {
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #none, #id], iterator_types = ["parallel"]} ins(%x, %y, %z : tensor<4xf32>, tensor<4xf32>, tensor<f32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %m = arith.mulf %b, %c : f32
      %s = arith.subf %a, %m : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// A call that waits when the batch that it reads from is closed follows it.
// CHECK-LABEL: func.func @follows(
// CHECK-NEXT: %[[N:.*]]:2 = rt.kernel @batch_0(
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %[[N]]#0
// CHECK-NEXT: %[[S:.*]] = rt.kernel @total(%[[N]]#0, %[[N]]#1)
// CHECK-NEXT: %[[T:.*]] = rt.kernel @total(%[[S]], %[[S]])
// CHECK-NEXT: return %[[E]], %[[T]]
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#scalar = affine_map<() -> ()>
module attributes {rt.target = "cuda"} {
  func.func @follows(%g: tensor<8xf32>, %h: tensor<4xf32>) -> (tensor<1xf32>, tensor<f32>) {
    %0 = rt.kernel @norm_8(%g) : (tensor<8xf32>) -> tensor<f32>
    %1 = rt.kernel @norm_4(%h) : (tensor<4xf32>) -> tensor<f32>
    %2 = rt.kernel @total(%0, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %e = tensor.expand_shape %0 [] output_shape [1] : tensor<f32> into tensor<1xf32>
    %3 = rt.kernel @total(%2, %2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %e, %3 : tensor<1xf32>, tensor<f32>
  }
  func.func private @norm_8(%x: tensor<8xf32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @norm_4(%x: tensor<4xf32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @total(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %e = tensor.empty() : tensor<f32>
    %r = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []} ins(%x, %y : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Small independent kernels are one launch, even if their operands die there;
// views of their results come after it.
// CHECK-LABEL: func.func @neighbours(
// CHECK-NEXT: %[[P:.*]]:2 = rt.kernel @parts(
// CHECK-NEXT: %[[S:.*]]:2 = rt.kernel @batch_0(%[[P]]#0, %[[P]]#1)
// CHECK-NEXT: %[[V:.*]] = tensor.expand_shape %[[S]]#0
// CHECK-NEXT: %[[R:.*]] = rt.kernel @both(%[[V]], %[[S]]#1)
// CHECK-NEXT: return %[[R]]
#all = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#flip = affine_map<(d0, d1) -> (d0 * 64 + d1)>
module attributes {rt.target = "cuda"} {
  func.func @neighbours(%x: tensor<1024x128xf32>) -> tensor<2x64xf32> {
    %p:2 = rt.kernel @parts(%x) : (tensor<1024x128xf32>) -> (tensor<1024x128xf32>, tensor<1024x128xf32>)
    %a = rt.kernel @sum(%p#0) : (tensor<1024x128xf32>) -> tensor<128xf32>
    %v = tensor.expand_shape %a [[0, 1]] output_shape [2, 64] : tensor<128xf32> into tensor<2x64xf32>
    %b = rt.kernel @sum(%p#1) : (tensor<1024x128xf32>) -> tensor<128xf32>
    %r = rt.kernel @both(%v, %b) : (tensor<2x64xf32>, tensor<128xf32>) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
  func.func private @parts(%x: tensor<1024x128xf32>) -> (tensor<1024x128xf32>, tensor<1024x128xf32>) attributes {rt.kernel, rt.rows = 1024 : i64} {
    %e = tensor.empty() : tensor<1024x128xf32>
    %r:2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1024x128xf32>) outs(%e, %e : tensor<1024x128xf32>, tensor<1024x128xf32>) {
    ^bb0(%in: f32, %o: f32, %q: f32):
      %s = arith.mulf %in, %in : f32
      linalg.yield %in, %s : f32, f32
    } -> (tensor<1024x128xf32>, tensor<1024x128xf32>)
    return %r#0, %r#1 : tensor<1024x128xf32>, tensor<1024x128xf32>
  }
  func.func private @sum(%x: tensor<1024x128xf32>) -> tensor<128xf32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1024x128xf32>) outs(%f : tensor<128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<128xf32>
    return %r : tensor<128xf32>
  }
  func.func private @both(%x: tensor<2x64xf32>, %y: tensor<128xf32>) -> tensor<2x64xf32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %e = tensor.empty() : tensor<2x64xf32>
    %r = linalg.generic {indexing_maps = [#all, #flip, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<2x64xf32>, tensor<128xf32>) outs(%e : tensor<2x64xf32>) {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %s = arith.addf %in, %other : f32
      linalg.yield %s : f32
    } -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// In a loop: partial sums become neighbours, and kernels that add them to the loop's
// own sums wait for its end. A kernel that would keep a large tensor live does not
// wait, although its result is carried by the loop.
// CHECK-LABEL: func.func @in_a_loop(
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}})
// CHECK-NEXT: %[[P:.*]]:2 = rt.kernel @parts(
// CHECK-NEXT: %[[S:.*]]:2 = rt.kernel @batch_0(%[[P]]#0, %[[P]]#1)
// CHECK-NEXT: %[[L:.*]] = rt.copy
// CHECK-NEXT: %[[T:.*]] = rt.kernel @total(%[[L]], %[[C]])
// CHECK-NEXT: rt.copy
// CHECK-NEXT: %[[R:.*]]:2 = rt.kernel @batch_1(%[[A]], %[[S]]#0, %[[B]], %[[S]]#1)
// CHECK-NEXT: scf.yield %[[R]]#0, %[[R]]#1, %[[T]]
#all = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0) -> (d0)>
module attributes {rt.target = "cuda"} {
  func.func @in_a_loop(%x: tensor<1024x128xf32>, %y: tensor<128xf32>, %z: tensor<128xf32>, %w: tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %r:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %y, %b = %z, %c = %w) -> (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) {
      %p:2 = rt.kernel @parts(%x) : (tensor<1024x128xf32>) -> (tensor<1024x128xf32>, tensor<1024x128xf32>)
      %s = rt.kernel @sum(%p#0) : (tensor<1024x128xf32>) -> tensor<128xf32>
      %m = rt.kernel @add(%a, %s) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
      %u = rt.kernel @sum(%p#1) : (tensor<1024x128xf32>) -> tensor<128xf32>
      %n = rt.kernel @add(%b, %u) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
      %l = rt.copy %x strides [128, 1] base 0 : tensor<1024x128xf32> -> tensor<1024x128xf32>
      %t = rt.kernel @total(%l, %c) : (tensor<1024x128xf32>, tensor<128xf32>) -> tensor<128xf32>
      %k = rt.copy %x strides [1, 128] base 0 : tensor<1024x128xf32> -> tensor<128x1024xf32>
      scf.yield %m, %n, %t : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
    }
    return %r#0, %r#1, %r#2 : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
  }
  func.func private @parts(%x: tensor<1024x128xf32>) -> (tensor<1024x128xf32>, tensor<1024x128xf32>) attributes {rt.kernel, rt.rows = 1024 : i64} {
    %e = tensor.empty() : tensor<1024x128xf32>
    %r:2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1024x128xf32>) outs(%e, %e : tensor<1024x128xf32>, tensor<1024x128xf32>) {
    ^bb0(%in: f32, %o: f32, %q: f32):
      %s = arith.mulf %in, %in : f32
      linalg.yield %in, %s : f32, f32
    } -> (tensor<1024x128xf32>, tensor<1024x128xf32>)
    return %r#0, %r#1 : tensor<1024x128xf32>, tensor<1024x128xf32>
  }
  func.func private @sum(%x: tensor<1024x128xf32>) -> tensor<128xf32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1024x128xf32>) outs(%f : tensor<128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<128xf32>
    return %r : tensor<128xf32>
  }
  func.func private @total(%x: tensor<1024x128xf32>, %y: tensor<128xf32>) -> tensor<128xf32> attributes {rt.kernel, rt.rows = 1 : i64} {
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1024x128xf32>) outs(%y : tensor<128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<128xf32>
    return %r : tensor<128xf32>
  }
  func.func private @add(%x: tensor<128xf32>, %y: tensor<128xf32>) -> tensor<128xf32> attributes {rt.kernel, rt.rows = 128 : i64} {
    %e = tensor.empty() : tensor<128xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<128xf32>, tensor<128xf32>) outs(%e : tensor<128xf32>) {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %s = arith.addf %in, %other : f32
      linalg.yield %s : f32
    } -> tensor<128xf32>
    return %r : tensor<128xf32>
  }
}
