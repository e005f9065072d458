// RUN: tessera-opt %s --rt-plan-arena --rt-fence-state | FileCheck %s

func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %a : tensor<16xf32>
}
func.func private @count(%a: tensor<f32>) -> tensor<f32>
    attributes {rt.kernel, rt.rows = 1 : i64, rt.reuse = array<i64: 0, 0>} {
  return %a : tensor<f32>
}

// The arena as the planner makes it.

// One fence, before the first of two updates; the gradient is written elsewhere,
// and a counter may change before it.
// CHECK-LABEL: func.func @updates
// CHECK-NOT: rt.state_fence
// CHECK: rt.kernel @count
// CHECK-NEXT: rt.kernel @add(%arg0, %arg3)
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: rt.kernel @add(%arg1
// CHECK-NOT: rt.state_fence
// CHECK: return
func.func @updates(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64},
                   %m: tensor<16xf32> {nn.state = "p.m", nn.of = "p", dist.donate = 1 : i64},
                   %n: tensor<f32> {nn.state = "step", dist.donate = 2 : i64}, %x: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32>, tensor<f32>) {
  %n1 = rt.kernel @count(%n) : (tensor<f32>) -> tensor<f32>
  %g = rt.kernel @add(%p, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %m1 = rt.kernel @add(%m, %g) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %p1 = rt.kernel @add(%p, %m1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %p1, %m1, %n1 : tensor<16xf32>, tensor<16xf32>, tensor<f32>
}

// A program that changes nothing, or only a counter, has none.
// CHECK-LABEL: func.func @counts
// CHECK-NOT: rt.state_fence
// CHECK-LABEL: func.func @copied
func.func @counts(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64},
                  %n: tensor<f32> {nn.state = "step", dist.donate = 1 : i64})
    -> (tensor<16xf32>, tensor<f32>) {
  %n1 = rt.kernel @count(%n) : (tensor<f32>) -> tensor<f32>
  return %p, %n1 : tensor<16xf32>, tensor<f32>
}

// The copy to an argument that another value replaces.
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: rt.copy
func.func @copied(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}, %x: tensor<16xf32>)
    -> tensor<16xf32> {
  return %x : tensor<16xf32>
}
