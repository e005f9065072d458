// A reduction moves past linear ops as long as it moves no more bytes.
// RUN: tessera-opt %s --dist-place-reductions | FileCheck %s

#whole = #dist.sharding<@mesh, [{}, {}]>
#partial = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>
#largest = #dist.sharding<@mesh, [{}, {}], unreduced={"x"} max>
#vector = #dist.sharding<@mesh, [{}]>

dist.mesh @mesh ["x"=4]

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[N:.*]] = arith.negf %[[A]]
// CHECK-SAME: unreduced={"x"}
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[N]]
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[T]]
// CHECK-NEXT: return %[[R]]
func.func @chain(%a: tensor<8x4xf32> {dist.sharding = #partial}) -> (tensor<4x8xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = arith.negf %0 {dist.shardings = [#whole]} : tensor<8x4xf32>
  %2 = nn.transpose %1 [1, 0] {dist.shardings = [#whole]} : tensor<8x4xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A product of two partial values is not a partial product.
// CHECK-LABEL: func.func @product(
// CHECK: %[[R:.*]] = dist.reshard
// CHECK-NEXT: arith.mulf %[[R]], %[[R]]
// CHECK-NEXT: return
func.func @product(%a: tensor<8x4xf32> {dist.sharding = #partial}) -> (tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = arith.mulf %0, %0 {dist.shardings = [#whole]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// Nor is a sum of a partial and a whole value a partial sum.
// CHECK-LABEL: func.func @whole_operand(
// CHECK: dist.reshard
// CHECK-NEXT: arith.addf
// CHECK-NEXT: return
func.func @whole_operand(%a: tensor<8x4xf32> {dist.sharding = #partial}, %b: tensor<8x4xf32> {dist.sharding = #whole}) -> (tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = arith.addf %0, %b {dist.shardings = [#whole]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// Never past an op that has a larger result: a broadcast, a wider type.
// CHECK-LABEL: func.func @broadcast(
// CHECK: dist.reshard
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: return
func.func @broadcast(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}) -> (tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}], unreduced={"x"}> to <@mesh, [{}]> {dist.shardings = [#vector]} : tensor<4xf32>
  %1 = nn.broadcast %0 dims [1] {dist.shardings = [#whole]} : tensor<4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @wider(
// CHECK: dist.reshard
// CHECK-NEXT: arith.extf
// CHECK-NEXT: return
func.func @wider(%a: tensor<8x4xbf16> {dist.sharding = #partial}) -> (tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xbf16>
  %1 = arith.extf %0 {dist.shardings = [#whole]} : tensor<8x4xbf16> to tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// If an op has a smaller result, its result is reduced.
// CHECK-LABEL: func.func @smaller(
// CHECK: nn.reduce
// CHECK-NEXT: dist.reshard {{.*}} : tensor<4xf32>
// CHECK-NEXT: return
func.func @smaller(%a: tensor<8x4xf32> {dist.sharding = #partial}) -> (tensor<4xf32> {dist.sharding = #vector}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] {dist.shardings = [#vector]} : tensor<8x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A maximum moves past increasing functions, not past a negation.
// CHECK-LABEL: func.func @maximum(
// CHECK: math.exp
// CHECK-NEXT: dist.reshard
// CHECK-NEXT: arith.negf
// CHECK-NEXT: return
func.func @maximum(%a: tensor<8x4xf32> {dist.sharding = #largest}) -> (tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"} max> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = math.exp %0 {dist.shardings = [#whole]} : tensor<8x4xf32>
  %2 = arith.negf %1 {dist.shardings = [#whole]} : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// Delayed for one of two uses it would run twice.
// CHECK-LABEL: func.func @two_uses(
// CHECK: %[[R:.*]] = dist.reshard
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[R]]
// CHECK-NEXT: return %[[N]], %[[R]]
func.func @two_uses(%a: tensor<8x4xf32> {dist.sharding = #partial})
    -> (tensor<8x4xf32> {dist.sharding = #whole}, tensor<8x4xf32> {dist.sharding = #whole}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<8x4xf32>
  %1 = arith.negf %0 {dist.shardings = [#whole]} : tensor<8x4xf32>
  return %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}
