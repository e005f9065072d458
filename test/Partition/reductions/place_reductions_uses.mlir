// Reductions of values with several uses: whether they move depends on all linear
// uses, and on the other reductions there.
// RUN: tessera-opt %s --dist-propagate-shardings --dist-insert-reshards --dist-place-reductions | FileCheck %s

#whole = #dist.sharding<@mesh, [{}, {}]>
#rows = #dist.sharding<@mesh, [{"x"}, {}]>
#columns = #dist.sharding<@mesh, [{}, {"x"}]>

dist.mesh @mesh ["x"=4]

// The gradient %g is used for the gradients of an input and of a weight. The former
// is added to a value that is partial over x too, so its reduction exists already;
// the weight's is smaller than %g.
// CHECK-LABEL: @joined(
// CHECK: %[[G:.*]] = nn.einsum "bc,ck->bk"
// CHECK-NEXT: %[[DX:.*]] = nn.einsum "bk,dk->bd" %[[G]]
// CHECK-SAME: unreduced={"x"}
// CHECK-NEXT: %[[DW:.*]] = nn.einsum "bd,bk->dk" %{{.*}}, %[[G]]
// CHECK-SAME: unreduced={"x"}
// CHECK-NEXT: %[[RW:.*]] = dist.reshard %[[DW]] from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]>
// CHECK-NEXT: %[[DQ:.*]] = nn.einsum "bq,dq->bd"
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[DX]], %[[DQ]]
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[SUM]] from <@mesh, [{}, {}], unreduced={"x"}>
// CHECK-NEXT: return %[[R]], %[[RW]]
func.func @joined(%a: tensor<64x16xf32> {dist.sharding = #columns}, %b: tensor<16x8xf32> {dist.sharding = #rows},
    %w: tensor<32x8xf32> {dist.sharding = #whole}, %x: tensor<64x32xf32> {dist.sharding = #whole},
    %dq: tensor<64x16xf32> {dist.sharding = #columns}, %wq: tensor<32x16xf32> {dist.sharding = #columns})
    -> (tensor<64x32xf32> {dist.sharding = #whole}, tensor<32x8xf32> {dist.sharding = #whole}) {
  %g = nn.einsum "bc,ck->bk" %a, %b : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  %dx = nn.einsum "bk,dk->bd" %g, %w : tensor<64x8xf32>, tensor<32x8xf32> -> tensor<64x32xf32>
  %dw = nn.einsum "bd,bk->dk" %x, %g : tensor<64x32xf32>, tensor<64x8xf32> -> tensor<32x8xf32>
  %dxq = nn.einsum "bq,dq->bd" %dq, %wq : tensor<64x16xf32>, tensor<32x16xf32> -> tensor<64x32xf32>
  %sum = arith.addf %dx, %dxq : tensor<64x32xf32>
  return %sum, %dw : tensor<64x32xf32>, tensor<32x8xf32>
}

// A whole summand becomes a partial one, which costs nothing.
// CHECK-LABEL: @whole_term(
// CHECK: %[[G:.*]] = nn.einsum "bc,ck->bk"
// CHECK-NEXT: nn.einsum "bd,bk->dk" %{{.*}}, %[[G]]
// CHECK: %[[T:.*]] = dist.reshard %{{.*}} from <@mesh, [{}, {}]> to <@mesh, [{}, {}], unreduced={"x"}>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[G]], %[[T]]
// CHECK-NEXT: %[[S2:.*]] = arith.addf %[[S]],
// CHECK-NEXT: dist.reshard %[[S2]] from <@mesh, [{}, {}], unreduced={"x"}>
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @whole_term(%a: tensor<64x16xf32> {dist.sharding = #columns}, %b: tensor<16x8xf32> {dist.sharding = #rows},
    %x: tensor<64x2xf32> {dist.sharding = #whole}, %t: tensor<64x8xf32> {dist.sharding = #whole},
    %dq: tensor<64x16xf32> {dist.sharding = #columns}, %wq: tensor<8x16xf32> {dist.sharding = #columns})
    -> (tensor<64x8xf32> {dist.sharding = #whole}, tensor<2x8xf32> {dist.sharding = #whole}) {
  %g = nn.einsum "bc,ck->bk" %a, %b : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  %dw = nn.einsum "bd,bk->dk" %x, %g : tensor<64x2xf32>, tensor<64x8xf32> -> tensor<2x8xf32>
  %dxq = nn.einsum "bq,dq->bd" %dq, %wq : tensor<64x16xf32>, tensor<8x16xf32> -> tensor<64x8xf32>
  %s = arith.addf %g, %t : tensor<64x8xf32>
  %sum = arith.addf %s, %dxq : tensor<64x8xf32>
  return %sum, %dw : tensor<64x8xf32>, tensor<2x8xf32>
}

// The weight's gradient is larger than %g here: one reduction of %g moves less.
// CHECK-LABEL: @large_weight(
// CHECK: %[[P:.*]] = nn.einsum "bc,ck->bk"
// CHECK-NEXT: %[[G:.*]] = dist.reshard %[[P]]
// CHECK-NEXT: nn.einsum "bk,dk->bd" %[[G]]
// CHECK-NEXT: nn.einsum "bd,bk->dk" %{{.*}}, %[[G]]
func.func @large_weight(%a: tensor<16x16xf32> {dist.sharding = #columns}, %b: tensor<16x8xf32> {dist.sharding = #rows},
    %w: tensor<32x8xf32> {dist.sharding = #whole}, %x: tensor<16x32xf32> {dist.sharding = #whole},
    %dq: tensor<16x16xf32> {dist.sharding = #columns}, %wq: tensor<32x16xf32> {dist.sharding = #columns})
    -> (tensor<16x32xf32> {dist.sharding = #whole}, tensor<32x8xf32> {dist.sharding = #whole}) {
  %g = nn.einsum "bc,ck->bk" %a, %b : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  %dx = nn.einsum "bk,dk->bd" %g, %w : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  %dw = nn.einsum "bd,bk->dk" %x, %g : tensor<16x32xf32>, tensor<16x8xf32> -> tensor<32x8xf32>
  %dxq = nn.einsum "bq,dq->bd" %dq, %wq : tensor<16x16xf32>, tensor<32x16xf32> -> tensor<16x32xf32>
  %sum = arith.addf %dx, %dxq : tensor<16x32xf32>
  return %sum, %dw : tensor<16x32xf32>, tensor<32x8xf32>
}

// A nonlinear use needs the sum before it.
// CHECK-LABEL: @needed(
// CHECK: %[[P:.*]] = nn.einsum "bc,ck->bk"
// CHECK-NEXT: %[[G:.*]] = dist.reshard %[[P]]
// CHECK-NEXT: math.exp %[[G]]
// CHECK-NEXT: nn.einsum "bd,bk->dk" %{{.*}}, %[[G]]
func.func @needed(%a: tensor<64x16xf32> {dist.sharding = #columns}, %b: tensor<16x8xf32> {dist.sharding = #rows},
    %x: tensor<64x2xf32> {dist.sharding = #whole})
    -> (tensor<64x8xf32> {dist.sharding = #whole}, tensor<2x8xf32> {dist.sharding = #whole}) {
  %g = nn.einsum "bc,ck->bk" %a, %b : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
  %e = math.exp %g : tensor<64x8xf32>
  %dw = nn.einsum "bd,bk->dk" %x, %g : tensor<64x2xf32>, tensor<64x8xf32> -> tensor<2x8xf32>
  return %e, %dw : tensor<64x8xf32>, tensor<2x8xf32>
}

// Over micro-batches the sum waits for the last one: the weight's gradient may be
// larger than the tensor that is reduced each time.
// CHECK-LABEL: @micro_batches(
// CHECK: dist.accumulate 4
// CHECK-NOT: dist.reshard
// CHECK: dist.yield
// CHECK: dist.reshard %{{.*}} from <@mesh, [{}, {}], unreduced={"x"}>
// CHECK-NEXT: dist.reshard %{{.*}} from <@mesh, [{}, {}], unreduced={"x"}>
// CHECK-NEXT: return
func.func @micro_batches(%a: tensor<4x16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}]>}, %b: tensor<16x8xf32> {dist.sharding = #rows},
    %x: tensor<16x32xf32> {dist.sharding = #whole}, %y: tensor<16x32xf32> {dist.sharding = #whole})
    -> (tensor<32x8xf32> {dist.sharding = #whole}, tensor<32x8xf32> {dist.sharding = #whole}) {
  %0:2 = dist.accumulate 4 (%a) : (tensor<4x16x16xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>) {
  ^bb0(%part: tensor<16x16xf32>):
    %g = nn.einsum "bc,ck->bk" %part, %b : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    %dw = nn.einsum "bd,bk->dk" %x, %g : tensor<16x32xf32>, tensor<16x8xf32> -> tensor<32x8xf32>
    %dv = nn.einsum "bd,bk->dk" %y, %g : tensor<16x32xf32>, tensor<16x8xf32> -> tensor<32x8xf32>
    dist.yield %dw, %dv : tensor<32x8xf32>, tensor<32x8xf32>
  }
  return %0#0, %0#1 : tensor<32x8xf32>, tensor<32x8xf32>
}
