// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// Sums over micro-batches.
func.func @f() {
  // expected-error @+1 {{(C1) expects at least one micro-batch but got 0}}
  dist.accumulate 0 () : () -> () {
    dist.yield
  }
  return
}
// -----
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects operand 0 to have 2 micro-batches in its first dimension but got 'tensor<4x8xf32>'}}
  dist.accumulate 2 (%a) : (tensor<4x8xf32>) -> () {
  ^bb0(%b: tensor<8xf32>):
    dist.yield
  }
  return
}
// -----
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects region argument 0 of type 'tensor<8xf32>' but got 'tensor<4xf32>'}}
  dist.accumulate 4 (%a) : (tensor<4x8xf32>) -> () {
  ^bb0(%b: tensor<4xf32>):
    dist.yield
  }
  return
}
// -----
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C3) expects the region to yield the results' types, or those of their slices}}
  %s = dist.accumulate 4 (%a) : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<8xf32>):
    dist.yield %b : tensor<8xf32>
  }
  return
}
// -----
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C3) expects the region to yield the results' types, or those of their slices}}
  %s = dist.accumulate 4 (%a) : (tensor<4x8xf32>) -> tensor<3x8xf32> {
  ^bb0(%b: tensor<8xf32>):
    dist.yield %b : tensor<8xf32>
  }
  return
}
// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{dist.held: expects array<i64: pp rank, micro-batches> but got array<i64: 1, 0>}}
  %s = arith.negf %a {dist.held = array<i64: 1, 0>} : tensor<8xf32>
  return
}
// -----
// Buckets.
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects a region with one collective of each operand, at least one, and a dist.yield}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    
    dist.yield %0, %0 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects a local collective of the region's argument 1 and a dist.yield of its result}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects the region to take}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.reduce_scatter <sum> %c dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
    %1 = dist.reduce_scatter <sum> %d dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
    dist.yield %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects all-reduces, reduce-scatters or all-gathers but got dist.broadcast}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.broadcast %c root 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.broadcast %d root 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects members over one set of axes but got}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <sum> %d over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects members of one reduction}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <max> %d over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C3) expects members of one kind but got dist.all_reduce and dist.reduce_scatter}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.reduce_scatter <sum> %d dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
    dist.yield %0, %1 : tensor<8xf32>, tensor<2xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=4]
func.func @f(%a: tensor<8xf32>, %b: tensor<8xbf16>) {
  // expected-error @+1 {{(C3) expects members of one element type but got 'f32' and 'bf16'}}
  %r:2 = dist.bucket (%a, %b) : (tensor<8xf32>, tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xbf16>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <sum> %d over <{"y"}> on @mesh : tensor<8xbf16> -> tensor<8xbf16>
    dist.yield %0, %1 : tensor<8xf32>, tensor<8xbf16>
  }
  return
}
// -----
// Ring attention.
dist.mesh @mesh ["x"=2]
func.func @f(%q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>) {
  // expected-error @+1 {{(C1) expects a region that takes the operands and yields the results' types}}
  %0 = dist.ring_attention (%q, %k) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x2x8xf32> {
  ^bb0(%a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>):
    %g = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    dist.yield %b : tensor<2x4x2x8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>) {
  // expected-error @+1 {{(C2) expects two all-gathers, an op, and two or no reduce-scatters but got 1, 1 and 0}}
  %0 = dist.ring_attention (%q, %k) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x2x8xf32> {
  ^bb0(%a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>):
    %g = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %2 = nn.attention scale 0.25 %a, %g, %g : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x4x2x2x8xf32>
    dist.yield %2 : tensor<2x4x2x2x8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>) {
  // expected-error @+1 {{(C2) expects gathers of arguments for the op, and scatters, along dimension 1 over #dist.axes<{"x"}>}}
  %0 = dist.ring_attention (%q, %k) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x2x8xf32> {
  ^bb0(%a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>):
    %g = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %h = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %2 = nn.attention scale 0.25 %a, %g, %g : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x4x2x2x8xf32>
    dist.yield %2 : tensor<2x4x2x2x8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>) {
  // expected-error @+1 {{(C3) expects to yield the results of the op, scattered where they are}}
  %0 = dist.ring_attention (%q, %k) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x2x8xf32> {
  ^bb0(%a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>):
    %g = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %h = dist.all_gather %b dim 1 over <{"x"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %2 = nn.attention scale 0.25 %a, %g, %h : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x4x2x2x8xf32>
    dist.yield %a : tensor<2x4x2x2x8xf32>
  }
  return
}
// -----
func.func @f() {
  // expected-error @+1 {{dist.ring: expects #dist.axes of some axes but got 3 : i64}}
  %0 = arith.constant {dist.ring = 3 : i64} 0.0 : f32
  return
}
// -----
// expected-error @+1 {{dist.pairs: expects array<i64: fewest, most> but got array<i64: 3, 2>}}
func.func @f() attributes {dist.local, dist.pairs = array<i64: 3, 2>} { return }
// -----
// Matmuls in chunks that overlap with a collective.
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{(C1) expects a region that takes the operands and yields the results' types}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32> {
  ^bb0(%c: tensor<4x8xf32>, %d: tensor<8x6xf32>):
    %g = dist.all_gather %c dim 0 over <{"x"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
    dist.yield %g : tensor<8x8xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{(C2) expects one local collective but got 0}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> {
  ^bb0(%c: tensor<4x8xf32>, %d: tensor<8x6xf32>):
    %r = nn.einsum "sd,de->se" %c, %d : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
    dist.yield %r : tensor<4x6xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{(C2) expects an all-gather or a reduce-scatter but got dist.all_reduce}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> {
  ^bb0(%c: tensor<4x8xf32>, %d: tensor<8x6xf32>):
    %r = nn.einsum "sd,de->se" %c, %d : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
    %s = dist.all_reduce <sum> %r over <{"x"}> on @mesh : tensor<4x6xf32> -> tensor<4x6xf32>
    dist.yield %s : tensor<4x6xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<8x4xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{(C3) expects an op of which dimension 1 of the gathered operand is a parallel factor but got nn.einsum}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<8x6xf32> {
  ^bb0(%c: tensor<8x4xf32>, %d: tensor<8x6xf32>):
    %g = dist.all_gather %c dim 1 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x8xf32>
    %r = nn.einsum "sd,de->se" %g, %d : tensor<8x8xf32>, tensor<8x6xf32> -> tensor<8x6xf32>
    dist.yield %r : tensor<8x6xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{(C3) expects an op of which dimension -7 of the gathered operand is a parallel factor but got nn.einsum}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32> {
  ^bb0(%c: tensor<4x8xf32>, %d: tensor<8x6xf32>):
    %g = dist.all_gather %c dim -7 over <{"x"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
    %r = nn.einsum "sd,de->se" %g, %d : tensor<8x8xf32>, tensor<8x6xf32> -> tensor<8x6xf32>
    dist.yield %r : tensor<8x6xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+1 {{(C3) expects one op whose result is scattered along a parallel factor but got 1 ops}}
  %0 = dist.collective_matmul (%a, %b) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<8x4xf32>, %d: tensor<8x4xf32>):
    %r = nn.einsum "sd,sd->sd" %c, %d : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
    %s = dist.reduce_scatter <sum> %r dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    dist.yield %s : tensor<4x4xf32>
  }
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects 2 chunks but got 1}}
  %0 = dist.assemble %a dim 0 over <{"x"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects chunks of one type and a result that has 2 times their size in dimension 1 but got 'tensor<4x8xf32>' and 'tensor<8x8xf32>'}}
  %0 = dist.assemble %a, %a dim 1 over <{"x"}> on @mesh : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=2, "y"=2]
func.func @twice(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{(C1) expects each axis once but got #dist.axes<{"y", "y"}>}}
  %0 = dist.collective_permute %x targets [0, 3, 1, 2] over <{"y", "y"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
// -----
// Pipelines.
func.func @paths() {
  // expected-error @+1 {{(C1) expects paths of one length over pp ranks that are numbered from 0 but got}}
  dist.pipeline paths [[0, 2]] micro_batches 2 batch() list "" : () -> () {}
  return
}
// -----
func.func @paths() {
  // expected-error @+1 {{(C1) expects micro-batches that 2 paths divide but got 3}}
  dist.pipeline paths [[0, 1], [1, 0]] micro_batches 3 batch() list "" : () -> () {}
  return
}
// -----
func.func @batch(%t: tensor<3x4xi32>) {
  // expected-error @+1 {{(C3) expects batch operand 0 to have 2 micro-batches in its first dimension but got 'tensor<3x4xi32>'}}
  dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "" : (tensor<3x4xi32>) -> () {}
  return
}
// -----
func.func @tasks() {
  // expected-error @+1 {{(C2) expects tasks F; F and BW; F, B and W; or all four of chunk 0}}
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> () {
    dist.task BW 0 () { dist.task_yield }
  }
  return
}
// -----
func.func @mixed(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expects tasks B and BW of chunk 0 to send values of the same types but got 'tensor<4xf32>' and 'tensor<2xf32>'}}
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task B 0 () { dist.task_yield send(%a : tensor<4xf32>) }
    dist.task W 0 () { dist.task_yield }
    dist.task BW 0 () { dist.task_yield send(%b : tensor<2xf32>) }
  }
  return
}
// -----
func.func @twice() {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> () {
    dist.task F 0 () { dist.task_yield }
    // expected-error @+1 {{(C2) expects one task of a kind and chunk but got another F 0}}
    dist.task F 0 () { dist.task_yield }
  }
  return
}
// -----
func.func @source(%t: tensor<2x4xf32>) {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "" : (tensor<2x4xf32>) -> () {
    // expected-error @+1 {{(C2) expects no argument of F 0 in a task F}}
    dist.task F 0 (%x = F 0 : tensor<4xf32>) { dist.task_yield keep(%x : tensor<4xf32>) }
  }
  return
}
// -----
func.func @source(%t: tensor<2x4xf32>) {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch(%t) list "" : (tensor<2x4xf32>) -> () {
    // expected-error @+1 {{(C3) expects argument 0 of type 'tensor<4xf32>', that of batch 0, but got 'tensor<2xf32>'}}
    dist.task F 0 (%x = batch 0 : tensor<2xf32>) { dist.task_yield keep(%x : tensor<2xf32>) }
  }
  return
}
// -----
func.func @source() {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> () {
    dist.task F 0 (%x = recv 0 : tensor<2xf32>) { dist.task_yield keep(%x : tensor<2xf32>) }
    // expected-error @+1 {{(C3) expects argument 0 to be one of 1 values but got F 1}}
    dist.task BW 0 (%x = F 1 : tensor<2xf32>) { dist.task_yield }
  }
  return
}
// -----
func.func @results() {
  // expected-error @+1 {{(C4) expects result 0 to be added to or stored to but got neither}}
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> tensor<f32> {
    dist.task F 0 () { dist.task_yield }
  }
  return
}
// -----
func.func @results(%x: tensor<f32>) {
  %0 = dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> tensor<2xf32> {
    // expected-error @+1 {{(C4) expects a value of type 'tensor<2xf32>' for result 0 but got 'tensor<f32>'}}
    dist.task F 0 () { dist.task_yield add [0](%x : tensor<f32>) }
  }
  return
}
// -----
func.func @weights(%x: tensor<f32>) {
  dist.pipeline paths [[0, 1]] micro_batches 2 batch() list "" : () -> () {
    dist.task F 0 () { dist.task_yield }
    dist.task B 0 () { dist.task_yield }
    // expected-error @+1 {{(C2) expects a task W to send nothing but got 1 values}}
    dist.task W 0 () { dist.task_yield send(%x : tensor<f32>) }
  }
  return
}
// -----
func.func @exchange(%x: tensor<f32>) {
  // expected-error @+1 {{(C1) expects two or more ascending pp ranks among which those of 'from' are but got from [0, 2] among [0, 1]}}
  %0:2 = dist.exchange (%x) from [0, 2] among [0, 1] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}
// -----
func.func @exchange(%x: tensor<f32>) {
  // expected-error @+1 {{(C2) expects a result for each of 2 values but got 1}}
  %0 = dist.exchange (%x) from [0, 1] among [0, 1] : (tensor<f32>) -> tensor<f32>
  return
}
// -----
func.func @exchange(%x: tensor<complex<f32>>) {
  // expected-error @+1 {{(C3) expects floats, integers or index but got 'tensor<complex<f32>>'}}
  %0:2 = dist.exchange (%x) from [0, 1] among [0, 1] : (tensor<complex<f32>>) -> (tensor<complex<f32>>, tensor<complex<f32>>)
  return
}
// -----
func.func @exchange(%x: tensor<f32>) {
  // expected-error @+1 {{(C3) expects floats, integers or index but got 'tensor<complex<f32>>'}}
  %0:2 = dist.exchange (%x) from [0, 1] among [0, 1] : (tensor<f32>) -> (tensor<f32>, tensor<complex<f32>>)
  return
}
// -----
// expected-error @+1 {{dist.pp_rank: expects an integer of at least 0 but got -1 : i64}}
func.func @rank() attributes {dist.local, dist.pp_rank = -1 : i64} { return }

// -----

// expected-error @+1 {{dist.bubble: expects a number from 0 to 1 but got 1.500000e+00 : f64}}
func.func @bubble() attributes {dist.local, dist.bubble = 1.5 : f64} { return }
// -----
dist.mesh @mesh ["x"=2, "y"=2]
func.func @target(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{(C3)}}
  %0 = dist.collective_permute %x targets [31, 1, 2, 3] over <{"x", "y"}> on @mesh from <@mesh, [{"y", "x"}]> to <@mesh, [{"x", "y"}]> : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
dist.mesh @mesh ["x"=8]
// expected-error @+1 {{(C1) expects a sub-axis of axis "x" of at most 1048576 devices but got (1099511627776)1099511627776}}
func.func @part(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1099511627776)1099511627776, "x":(1)2}]>}) { return }
// -----
func.func @dynamic(%t: tensor<2x?xi32>) {
  // expected-error @+1 {{operand #0 must be variadic of statically shaped tensor of any type values, but got 'tensor<2x?xi32>'}}
  %0 = dist.pipeline paths [[0]] micro_batches 2 batch(%t) list "F0.0 F0.1" : (tensor<2x?xi32>) -> tensor<2x?xi32> {
    dist.task F 0 (%b = batch 0 : tensor<?xi32>) {
      dist.task_yield store [0](%b : tensor<?xi32>)
    }
  }
  return
}
