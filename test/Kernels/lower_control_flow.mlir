// RUN: tessera-opt %s --rt-lower-control-flow | FileCheck %s

// Both regions run, and the results are selected. In a region that is not
// taken, positions in tensors are zeros.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: %[[C:.*]]: i1, %[[X:.*]]: tensor<8xf32>, %[[I:.*]]: index)
// CHECK-NOT: scf.if
// CHECK: %[[NOT:.*]] = arith.xori %[[C]], %true
// CHECK: %[[A:.*]] = arith.addf %[[X]], %[[X]]
// CHECK: %[[P:.*]] = arith.select %[[NOT]], %[[I]], %c0
// CHECK: %[[E:.*]] = tensor.extract %[[X]][%[[P]]]
// CHECK: %[[S:.*]] = tensor.splat %[[E]]
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[S]] : tensor<8xf32>, tensor<8xf32>)
// CHECK: ^bb0(%[[U:.*]]: f32, %[[V:.*]]: f32, %{{.*}}: f32):
// CHECK: arith.select %[[C]], %[[U]], %[[V]] : f32
// CHECK: %[[N:.*]] = arith.select %[[C]], %{{.*}}, %{{.*}} : i32
// CHECK: return %[[T]], %[[N]]
func.func @branch(%c: i1, %x: tensor<8xf32>, %i: index) -> (tensor<8xf32>, i32) {
  %0:2 = scf.if %c -> (tensor<8xf32>, i32) {
    %1 = arith.addf %x, %x : tensor<8xf32>
    %n = arith.constant 1 : i32
    scf.yield %1, %n : tensor<8xf32>, i32
  } else {
    %e = tensor.extract %x[%i] : tensor<8xf32>
    %2 = tensor.splat %e : tensor<8xf32>
    %n = arith.constant 2 : i32
    scf.yield %2, %n : tensor<8xf32>, i32
  }
  return %0#0, %0#1 : tensor<8xf32>, i32
}

// One select for each case, on top of the default.
// CHECK-LABEL: func.func @switch(
// CHECK-NOT: scf.index_switch
// CHECK: %[[IS2:.*]] = arith.cmpi eq, %arg0, %c2
// CHECK: %[[IS5:.*]] = arith.cmpi eq, %arg0, %c5
// CHECK: %[[FIRST:.*]] = arith.select %[[IS2]], %c20_i32, %c0_i32
// CHECK: %[[BOTH:.*]] = arith.select %[[IS5]], %c50_i32, %[[FIRST]]
// CHECK: return %[[BOTH]]
func.func @switch(%i: index) -> i32 {
  %0 = scf.index_switch %i -> i32
  case 2 {
    %c20 = arith.constant 20 : i32
    scf.yield %c20 : i32
  }
  case 5 {
    %c50 = arith.constant 50 : i32
    scf.yield %c50 : i32
  }
  default {
    %c0 = arith.constant 0 : i32
    scf.yield %c0 : i32
  }
  return %0 : i32
}

// A loop carries its flag and its condition's operands; scalars become tensors.
// CHECK-LABEL: func.func @while(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[N:.*]]: i32)
// CHECK: %[[C0:.*]] = arith.cmpi slt, %c0_i32, %[[N]]
// CHECK: %[[F0:.*]] = linalg.fill ins(%[[C0]] : i1)
// CHECK: %[[I0:.*]] = linalg.fill ins(%c0_i32 : i32)
// CHECK: %[[L:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[F0]], %[[Y:.*]] = %[[X]], %[[I:.*]] = %[[I0]])
// CHECK:   %[[J:.*]] = tensor.extract %[[I]][]
// CHECK:   %[[Z:.*]] = arith.addf %[[Y]], %[[Y]]
// CHECK:   %[[K:.*]] = arith.addi %[[J]], %c1_i32
// CHECK:   %[[C:.*]] = arith.cmpi slt, %[[K]], %[[N]]
// CHECK:   %[[F:.*]] = linalg.fill ins(%[[C]] : i1)
// CHECK:   %[[I1:.*]] = linalg.fill ins(%[[K]] : i32)
// CHECK:   scf.yield %[[F]], %[[Z]], %[[I1]]
// CHECK: } {rt.while}
// CHECK: return %[[L]]#1
func.func @while(%x: tensor<8xf32>, %n: i32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0:2 = scf.while (%y = %x, %i = %c0) : (tensor<8xf32>, i32) -> (tensor<8xf32>, i32) {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %y, %i : tensor<8xf32>, i32
  } do {
  ^bb0(%y: tensor<8xf32>, %i: i32):
    %z = arith.addf %y, %y : tensor<8xf32>
    %j = arith.addi %i, %c1 : i32
    scf.yield %z, %j : tensor<8xf32>, i32
  }
  return %0#0 : tensor<8xf32>
}

// A loop in a region that is not taken does not start.
// CHECK-LABEL: func.func @loop_in_branch(
// CHECK: %[[C0:.*]] = arith.cmpf
// CHECK: %[[BEGINS:.*]] = arith.andi %arg0, %[[C0]]
// CHECK: linalg.fill ins(%[[BEGINS]] : i1)
// CHECK: scf.for
// CHECK: %[[C1:.*]] = arith.cmpf
// CHECK: %[[GOES_ON:.*]] = arith.andi %arg0, %[[C1]]
// CHECK: linalg.fill ins(%[[GOES_ON]] : i1)
// CHECK: {rt.while}
func.func @loop_in_branch(%c: i1, %x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %0 = scf.if %c -> (tensor<f32>) {
    %1 = scf.while (%y = %x) : (tensor<f32>) -> (tensor<f32>) {
      %e = tensor.extract %y[] : tensor<f32>
      %more = arith.cmpf ogt, %e, %one : f32
      scf.condition(%more) %y : tensor<f32>
    } do {
    ^bb0(%y: tensor<f32>):
      %z = math.sqrt %y : tensor<f32>
      scf.yield %z : tensor<f32>
    }
    scf.yield %1 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @carried_scalar(
// CHECK: %[[S:.*]] = linalg.fill ins(%arg0 : f32)
// CHECK: %[[L:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[S]]) -> (tensor<f32>)
// CHECK:   %[[V:.*]] = tensor.extract %[[A]][]
// CHECK:   %[[W:.*]] = arith.addf %[[V]], %[[V]]
// CHECK:   linalg.fill ins(%[[W]] : f32)
// CHECK: %[[R:.*]] = tensor.extract %[[L]][]
// CHECK: return %[[R]]
func.func @carried_scalar(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %x) -> (f32) {
    %z = arith.addf %y, %y : f32
    scf.yield %z : f32
  }
  return %0 : f32
}
