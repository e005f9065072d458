// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2, "s"=2, "one"=1] stage "s"

// Open dimensions take more axes, closed ones none; afterwards all are closed.
// CHECK-LABEL: func @open_and_closed
// CHECK-SAME: -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
func.func @open_and_closed(
    %a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> tensor<16x16xf32> {
  // CHECK: math.exp
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<16x16xf32>
  // CHECK: arith.addf
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x", "y"}, {}]>]
  %1 = arith.addf %0, %a {dist.shardings = [#dist.sharding<@mesh, [{"x", ?}, {?}]>]} : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// Priorities: y first, though x is first.
// CHECK-LABEL: func @priorities
// CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
func.func @priorities(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}p1]>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}p0]>})
    -> tensor<16xf32> {
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// `replicated` keeps an axis out of an open tensor.
// CHECK-LABEL: func @replicated
// CHECK-SAME: -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
func.func @replicated(
    %a: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<16x16xf32> {
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@mesh, [{?}, {?}], replicated={"x"}>]} : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// A partial argument: its axis shards none of its dimensions, and no other
// value is partial over it.
// CHECK-LABEL: func @unreduced
// CHECK-SAME: : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}
// CHECK-SAME: : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
func.func @unreduced(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}], unreduced={"x"}>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> tensor<16xf32> {
  // CHECK: arith.addf
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]
  %0 = arith.addf %a, %b : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A partial result does not make its operands partial.
// CHECK-LABEL: func @unreduced_not_backward
// CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) ->
// CHECK-SAME: (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"y"}>})
func.func @unreduced_not_backward(%a: tensor<16xf32>)
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}], unreduced={"y"}>}) {
  // CHECK: arith.negf
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}]>]
  %0 = arith.negf %a : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A function's result seed reaches the returned value.
// CHECK-LABEL: func @result_seed
// CHECK-SAME: : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
func.func @result_seed(%a: tensor<16xf32>)
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = arith.negf %a : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// One value as two results with different seeds.
// CHECK-LABEL: func @two_results
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
// CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
func.func @two_results(%a: tensor<16xf32>)
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
        tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %0 = arith.negf %a : tensor<16xf32>
  return %0, %0 : tensor<16xf32>, tensor<16xf32>
}

// An axis of one device shards nothing.
// CHECK-LABEL: func @unit_axis
// CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}
func.func @unit_axis(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"one"}]>})
    -> tensor<16xf32> {
  %0 = arith.negf %a : tensor<16xf32>
  return %0 : tensor<16xf32>
}
