// For differing shardings, one reshard for each value and target.
// RUN: tessera-opt %s --dist-insert-reshards | FileCheck %s

dist.mesh @mesh ["x"=4]

#rows = #dist.sharding<@mesh, [{"x"}, {}]>
#columns = #dist.sharding<@mesh, [{}, {"x"}]>
#whole = #dist.sharding<@mesh, [{}, {}]>
#vector = #dist.sharding<@mesh, [{}]>

// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: %[[R:.*]] = dist.reshard %[[A]] from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]>
// CHECK-NOT: dist.reshard
// CHECK-DAG: math.exp %[[R]]
// CHECK-DAG: math.absf %[[R]]
// CHECK: return
func.func @shared(%a: tensor<8x8xf32> {dist.sharding = #rows})
    -> (tensor<8x8xf32> {dist.sharding = #columns}, tensor<8x8xf32> {dist.sharding = #columns}) {
  %0 = math.exp %a {dist.shardings = [#columns]} : tensor<8x8xf32>
  %1 = math.absf %a {dist.shardings = [#columns]} : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// The kind of a reduction is kept.
// CHECK-LABEL: func.func @reduction(
// CHECK: %[[P:.*]] = nn.reduce <max> {{.*}}unreduced={"x"} max
// CHECK-NEXT: dist.reshard %[[P]] from <@mesh, [{}], unreduced={"x"} max> to <@mesh, [{}]>
func.func @reduction(%a: tensor<8x8xf32> {dist.sharding = #rows}) -> (tensor<8xf32> {dist.sharding = #vector}) {
  %0 = nn.reduce <max> %a dims [0] {dist.shardings = [#vector]} : tensor<8x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An init counts once: on the first device.
// CHECK-LABEL: func.func @init(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<8xf32> {dist.sharding = #{{.*}}<@mesh, [{}]>})
// CHECK: %[[P:.*]] = dist.to_partial <sum> %[[I]] over <{"x"}>
// CHECK: linalg.reduce {{.*}} outs(%[[P]]
func.func @init(%a: tensor<8x8xf32> {dist.sharding = #rows}, %i: tensor<8xf32> {dist.sharding = #vector}) -> (tensor<8xf32> {dist.sharding = #vector}) {
  %r = linalg.reduce {arith.addf} ins(%a : tensor<8x8xf32>) outs(%i : tensor<8xf32>) dimensions = [0] {dist.shardings = [#vector]}
  return %r : tensor<8xf32>
}

// A fill with the neutral element stays; another one does not.
// CHECK-LABEL: func.func @fills(
// CHECK-COUNT-1: dist.to_partial <max>
// CHECK-NOT: dist.to_partial
// CHECK: return
func.func @fills(%a: tensor<8x8xf32> {dist.sharding = #rows})
    -> (tensor<8xf32> {dist.sharding = #vector}, tensor<8xf32> {dist.sharding = #vector}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() {dist.shardings = [#vector]} : tensor<8xf32>
  %z = linalg.fill {dist.shardings = [#vector]} ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %l = linalg.fill {dist.shardings = [#vector]} ins(%lowest : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reduce {arith.maximumf} ins(%a : tensor<8x8xf32>) outs(%l : tensor<8xf32>) dimensions = [0] {dist.shardings = [#vector]}
  %s = linalg.reduce {arith.maximumf} ins(%a : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0] {dist.shardings = [#vector]}
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// A constraint becomes a reshard, or is erased.
// CHECK-LABEL: func.func @constraints(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-NOT: dist.constraint
// CHECK: %[[R:.*]] = dist.reshard %[[A]] from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]>
// CHECK-NEXT: return %[[A]], %[[R]]
func.func @constraints(%a: tensor<8x8xf32> {dist.sharding = #rows})
    -> (tensor<8x8xf32> {dist.sharding = #rows}, tensor<8x8xf32> {dist.sharding = #whole}) {
  %0 = dist.constraint %a <@mesh, [{"x"}, {}]> {dist.shardings = [#rows]} : tensor<8x8xf32>
  %1 = dist.constraint %a <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
