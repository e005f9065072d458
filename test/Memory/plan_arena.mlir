// RUN: tessera-opt %s --rt-plan-arena --split-input-file | FileCheck %s
// RUN: tessera-opt %s --rt-plan-arena --split-input-file --remarks-filter=memory -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Analysis] ArenaPlanned {{.*}} ArenaBytes=192, Blocks=4, LowerBoundBytes=192

func.func private @over(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func private @apart(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  return %x : tensor<16xf32>
}

// Arguments stay; the first result may not overwrite one. Later results reuse the
// memory of dead values, and alternate if they may not.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: rt.arena_bytes = 192 : i64
// CHECK-SAME: rt.memory = {activations = 128 : i64, gathered = 0 : i64, gradients = 0 : i64, inputs = 0 : i64, optimizer_state = 0 : i64, parameters = 64 : i64, workspace = 0 : i64}
// CHECK-SAME: rt.offsets = array<i64: 0>
// CHECK: rt.kernel @over(%arg0) {rt.offsets = array<i64: 64>}
// CHECK: rt.kernel @over({{.*}}) {rt.offsets = array<i64: 64>}
// CHECK: rt.kernel @apart({{.*}}) {rt.offsets = array<i64: 128>}
// CHECK: rt.kernel @apart({{.*}}) {rt.offsets = array<i64: 64>}
func.func @chain(%x: tensor<16xf32> {nn.param = "x"}) -> tensor<16xf32> {
  %0 = rt.kernel @over(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.kernel @over(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = rt.kernel @apart(%1) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = rt.kernel @apart(%2) : (tensor<16xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// A view has its source's memory and keeps it alive.
// CHECK-LABEL: func.func @views
// CHECK: rt.kernel @over(%arg0) {rt.offsets = array<i64: [[A:[0-9]+]]>}
// CHECK: tensor.expand_shape {{.*}} {rt.offsets = array<i64: [[A]]>}
// CHECK: rt.kernel @apart({{.*}}) {rt.offsets = array<i64: [[B:[0-9]+]]>}
// CHECK-NOT: array<i64: [[A]]>
// CHECK: return
func.func @views(%x: tensor<16xf32>) -> (tensor<4x4xf32>, tensor<16xf32>) {
  %0 = rt.kernel @over(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 4] : tensor<16xf32> into tensor<4x4xf32>
  %2 = rt.kernel @apart(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<16xf32>
}

// Not over an operand that is read later.
// CHECK-LABEL: func.func @read_later
// CHECK: rt.kernel @over(%arg0) {rt.offsets = array<i64: 64>}
// CHECK: rt.kernel @over({{.*}}) {rt.offsets = array<i64: 128>}
func.func @read_later(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = rt.kernel @over(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.kernel @over(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// -----

dist.mesh @mesh ["tp"=2]

func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  return %x : tensor<16xf32>
}

// Both operands of a collective keep their offsets while it runs: values
// computed meanwhile have others. An all-reduce overwrites a source that dies.
// CHECK-LABEL: func.func @in_flight
// CHECK-SAME: activations = 128 : i64, gathered = 128
// CHECK: rt.kernel @k(%arg0) {rt.offsets = array<i64: [[S:[0-9]+]]>}
// CHECK: dist.start {{.*}} {rt.offsets = array<i64: [[D:[0-9]+]]>
// CHECK: rt.kernel @k(%arg0) {rt.offsets = array<i64: [[M:[0-9]+]]>}
// CHECK: dist.wait {{.*}} {rt.offsets = array<i64: [[D]]>
// CHECK: dist.start {{.*}} {rt.offsets = array<i64: [[M]]>
func.func @in_flight(%x: tensor<16xf32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %0 = rt.kernel @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %f = dist.start %0 : tensor<16xf32> -> !dist.future<tensor<32xf32>> {
  ^bb0(%a: tensor<16xf32>):
    %g = dist.all_gather %a dim 0 over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<32xf32>
    dist.yield %g : tensor<32xf32>
  }
  %1 = rt.kernel @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = dist.wait %f, %0 : !dist.future<tensor<32xf32>>, tensor<16xf32> -> tensor<32xf32>
  %h = dist.start %1 : tensor<16xf32> -> !dist.future<tensor<16xf32>> {
  ^bb0(%a: tensor<16xf32>):
    %g = dist.all_reduce <sum> %a over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
    dist.yield %g : tensor<16xf32>
  }
  %3 = dist.wait %h, %1 : !dist.future<tensor<16xf32>>, tensor<16xf32> -> tensor<16xf32>
  return %2, %3 : tensor<32xf32>, tensor<16xf32>
}

// -----

func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func private @zeros() -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A value that a loop carries has one offset; a value that it reads from
// outside lives to its end, a value of its body within it.
// CHECK-LABEL: func.func @loop
// CHECK: rt.kernel @zeros() {rt.offsets = array<i64: [[SUM:[0-9]+]]>}
// CHECK: rt.kernel @zeros() {rt.offsets = array<i64: [[OUT:[0-9]+]]>}
// CHECK: scf.for
// CHECK:   rt.kernel @add(%{{.*}}, %{{.*}}) {rt.offsets = array<i64: [[IN:[0-9]+]]>}
// CHECK:   rt.kernel @add({{.*}}) {rt.offsets = array<i64: [[SUM]]>}
// CHECK: } {rt.offsets = array<i64: [[SUM]]>}
// CHECK: rt.kernel @add({{.*}}) {rt.offsets = array<i64: [[SUM]]>}
func.func @loop(%x: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = rt.kernel @zeros() : () -> tensor<16xf32>
  %o = rt.kernel @zeros() : () -> tensor<16xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %z) -> tensor<16xf32> {
    %0 = rt.kernel @add(%o, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %1 = rt.kernel @add(%sum, %0) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    scf.yield %1 : tensor<16xf32>
  }
  %2 = rt.kernel @add(%r, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// A sum that may not overwrite its summand is copied there; so is an argument that a
// loop starts with. Two values that exchange their memory use a third block.
// CHECK-LABEL: func.func @carried_copies
// CHECK: %[[I:.*]] = rt.copy %arg0 {{.*}} {rt.offsets = array<i64: [[A:[0-9]+]]>}
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[I]], %[[P:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}})
// CHECK:   %[[V:.*]] = rt.kernel @add
// CHECK:   %[[Q0:.*]] = rt.copy %[[Q]]
// CHECK:   %[[P0:.*]] = rt.copy %[[P]]
// CHECK:   %[[C:.*]] = rt.copy %[[V]] {{.*}} {rt.offsets = array<i64: [[A]]>}
// CHECK:   %[[Q1:.*]] = rt.copy %[[Q0]]
// CHECK:   scf.yield %[[C]], %[[Q1]], %[[P0]]
func.func @carried_copies(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x, %p = %x, %q = %y) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
    %1 = rt.kernel @add(%y, %sum) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    scf.yield %1, %q, %p : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// A donated argument's memory is the result's. The other operand of the update,
// with the same shape, is a gradient.
// CHECK-LABEL: func.func @donated
// CHECK-SAME: gradients = 64 : i64, inputs = 64 : i64, optimizer_state = 64 : i64, parameters = 64 : i64, workspace = 0
// CHECK-SAME: rt.offsets = array<i64: [[P:[0-9]+]], [[M:[0-9]+]], {{[0-9]+}}>
// CHECK: rt.kernel @update({{.*}}) {rt.offsets = array<i64: [[P]], [[M]]>}
func.func private @update(%p: tensor<16xf32>, %m: tensor<16xf32>, %g: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0, 1, 1>} {
  return %p, %m : tensor<16xf32>, tensor<16xf32>
}
func.func @donated(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}, %m: tensor<16xf32> {nn.state = "p.m", nn.of = "p", dist.donate = 1 : i64}, %x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %g = rt.kernel @add(%p, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %0:2 = rt.kernel @update(%p, %m, %g) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

// An argument that is returned unchanged needs nothing; a value with another
// fixed offset is copied to the result at the end.
// CHECK-LABEL: func.func @passed_on
// CHECK-SAME: rt.offsets = array<i64: {{[0-9]+}}, [[Q:[0-9]+]], {{[0-9]+}}>
// CHECK: %[[C:.*]] = rt.copy %arg2 {{.*}} {rt.offsets = array<i64: [[Q]]>}
// CHECK: return %arg0, %[[C]]
func.func @passed_on(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}, %q: tensor<16xf32> {nn.param = "q", dist.donate = 1 : i64}, %x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  return %p, %x : tensor<16xf32>, tensor<16xf32>
}

// The kernel cannot write an element in place: the element is copied.
// CHECK-LABEL: func.func @element
// CHECK-SAME: rt.offsets = array<i64: [[STEP:[0-9]+]]>
// CHECK: %[[NEXT:.*]] = rt.kernel @next(%arg0)
// CHECK: %[[C:.*]] = rt.copy %[[NEXT]] {{.*}} {rt.offsets = array<i64: [[STEP]]>}
// CHECK: return %[[C]]
func.func private @next(%x: tensor<f32>) -> tensor<f32>
    attributes {rt.kernel, rt.rows = 1 : i64, rt.reuse = array<i64>} {
  return %x : tensor<f32>
}
func.func @element(%step: tensor<f32> {nn.state = "step", dist.donate = 0 : i64}) -> tensor<f32> {
  %0 = rt.kernel @next(%step) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Values that are sent next to each other are computed there: no copy is left,
// neither there nor back. A matmul that adds to a sum reuses the sum's memory;
// a value that does not begin at a multiple of 64 bytes is copied.
dist.mesh @mesh ["x"=2]
func.func private @fill() -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func private @few(%x: tensor<16xf32>) -> tensor<3xf32>
    attributes {rt.kernel, rt.rows = 3 : i64, rt.reuse = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @use(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  return %x : tensor<16xf32>
}

// CHECK-LABEL: func.func @side_by_side
// CHECK-SAME: rt.arena_bytes = 384 : i64
// CHECK: rt.kernel @fill() {rt.offsets = array<i64: 64>}
// CHECK: rt.kernel @fill() {rt.offsets = array<i64: 0>}
// CHECK: rt.kernel @add({{.*}}) {rt.offsets = array<i64: 64>}
// CHECK: rt.kernel @few({{.*}}) {rt.offsets = array<i64: 128>}
// CHECK: rt.kernel @few({{.*}}) {rt.offsets = array<i64: 256>}
// CHECK: rt.concat {{.*}} {rt.offsets = array<i64: 0>}
// CHECK: dist.start {{.*}} {rt.offsets = array<i64: 0>}
// CHECK: rt.copy {{.*}} base 0 {rt.offsets = array<i64: 0>}
// CHECK: rt.copy {{.*}} base 16 {rt.offsets = array<i64: 64>}
// CHECK: rt.copy {{.*}} base 35 {rt.offsets = array<i64: 320>}
func.func @side_by_side(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<3xf32>) {
  %sum = rt.kernel @fill() : () -> tensor<16xf32>
  %a = rt.kernel @fill() : () -> tensor<16xf32>
  %b = rt.kernel @add(%sum, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = rt.kernel @few(%x) : (tensor<16xf32>) -> tensor<3xf32>
  %d = rt.kernel @few(%x) : (tensor<16xf32>) -> tensor<3xf32>
  %p = rt.concat %a, %b, %c, %d dim 0 : tensor<16xf32>, tensor<16xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<38xf32>
  %f = dist.start %p : tensor<38xf32> -> !dist.future<tensor<38xf32>> {
  ^bb0(%arg: tensor<38xf32>):
    %r = dist.all_reduce <sum> %arg over <{"x"}> on @mesh : tensor<38xf32> -> tensor<38xf32>
    dist.yield %r : tensor<38xf32>
  }
  %w = dist.wait %f, %p : !dist.future<tensor<38xf32>>, tensor<38xf32> -> tensor<38xf32>
  %0 = rt.copy %w strides [1] base 0 : tensor<38xf32> -> tensor<16xf32>
  // A dimension of one element may have any stride.
  %row = tensor.expand_shape %w [[0, 1]] output_shape [1, 38] : tensor<38xf32> into tensor<1x38xf32>
  %part = rt.copy %row strides [38, 1] base 16 : tensor<1x38xf32> -> tensor<1x16xf32>
  %1 = tensor.collapse_shape %part [[0, 1]] : tensor<1x16xf32> into tensor<16xf32>
  %2 = rt.copy %w strides [1] base 35 : tensor<38xf32> -> tensor<3xf32>
  %3 = rt.kernel @use(%0, %1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %3, %2 : tensor<16xf32>, tensor<3xf32>
}

// -----

// A slice of a value that lives as long is read in place, and so are slices that
// cover a value. A slice of a value that nothing else keeps alive is copied, as is
// a slice of an argument that is overwritten.
func.func private @make() -> tensor<64xf32>
    attributes {rt.kernel, rt.rows = 64 : i64, rt.reuse = array<i64>} {
  %0 = tensor.empty() : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @use(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  return %x : tensor<16xf32>
}
func.func private @all(%x: tensor<64xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  %0 = tensor.empty() : tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @step(%x: tensor<64xf32>) -> tensor<64xf32>
    attributes {rt.kernel, rt.rows = 64 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<64xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK: rt.kernel @make() {rt.offsets = array<i64: 0>}
// CHECK: rt.copy {{.*}} base 16 {rt.offsets = array<i64: 64>}
func.func @kept() -> (tensor<16xf32>, tensor<16xf32>) {
  %x = rt.kernel @make() : () -> tensor<64xf32>
  %0 = rt.copy %x strides [1] base 16 : tensor<64xf32> -> tensor<16xf32>
  %1 = rt.kernel @use(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = rt.kernel @all(%x) : (tensor<64xf32>) -> tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: func.func @halves
// CHECK: rt.kernel @make() {rt.offsets = array<i64: [[X:[0-9]+]]>}
// CHECK: rt.copy {{.*}} base 0 {rt.offsets = array<i64: [[X]]>}
// CHECK-NOT: array<i64: [[X]]>
// CHECK: return
func.func @halves() -> (tensor<32xf32>, tensor<32xf32>) {
  %x = rt.kernel @make() : () -> tensor<64xf32>
  %0 = rt.copy %x strides [1] base 0 : tensor<64xf32> -> tensor<32xf32>
  %1 = rt.copy %x strides [1] base 32 : tensor<64xf32> -> tensor<32xf32>
  return %0, %1 : tensor<32xf32>, tensor<32xf32>
}

// The arena holds the value and the copy, not more.
// CHECK-LABEL: func.func @not_kept
// CHECK-SAME: rt.arena_bytes = 320 : i64
// CHECK: rt.kernel @make() {rt.offsets = array<i64: [[X:[0-9]+]]>}
// CHECK: rt.copy {{.*}} base 0
// CHECK-NOT: array<i64: [[X]]>
// CHECK: rt.kernel @make() {rt.offsets = array<i64: [[X]]>}
func.func @not_kept() -> (tensor<16xf32>, tensor<64xf32>) {
  %x = rt.kernel @make() : () -> tensor<64xf32>
  %0 = rt.copy %x strides [1] base 0 : tensor<64xf32> -> tensor<16xf32>
  %1 = rt.kernel @make() : () -> tensor<64xf32>
  return %0, %1 : tensor<16xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @of_arguments
// CHECK-SAME: rt.offsets = array<i64: [[P:[0-9]+]], [[X:[0-9]+]]>
// CHECK: rt.copy %arg0
// CHECK-NOT: array<i64: [[P]]>
// CHECK: rt.copy %arg1 {{.*}} {rt.offsets = array<i64: [[X]]>}
// CHECK: rt.kernel @step(%arg0) {rt.offsets = array<i64: [[P]]>}
func.func @of_arguments(%p: tensor<64xf32> {nn.param = "p", dist.donate = 0 : i64}, %x: tensor<64xf32>) -> (tensor<64xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = rt.copy %p strides [1] base 0 : tensor<64xf32> -> tensor<16xf32>
  %1 = rt.copy %x strides [1] base 0 : tensor<64xf32> -> tensor<16xf32>
  %2 = rt.kernel @step(%p) : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %0, %1 : tensor<64xf32>, tensor<16xf32>, tensor<16xf32>
}
