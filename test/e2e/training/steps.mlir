// A hand-written step that changes its arguments: momentum SGD of a linear
// model. The runtime repeats it on the state of the step before.
// RUN: rm -rf %t && mkdir %t
// RUN: tessera compile %s --quiet -o %t/one
// RUN: %t/one --steps 8 --log=jsonl --save-outputs %t/w1 > %t/one.jsonl
// RUN: sed 's/"dp"=1/"dp"=2/' %s > %t/two.mlir
// RUN: tessera compile %t/two.mlir --quiet -o %t/two
// RUN: %t/two --ranks 2 --steps 8 --log=jsonl --save-outputs %t/w2 > %t/two.jsonl
// RUN: %python %S/../Inputs/compare_losses.py --steps 8 %t/one.jsonl %t/two.jsonl | FileCheck %s --check-prefix=FALLS
// FALLS: one.jsonl: 8 steps, loss 2.619{{[0-9]+}} to 0.903{{[0-9]+}}, largest difference loss 0.00e+00
// FALLS: two.jsonl: 8 steps,

// Results that are donated to have the names of their arguments.
// RUN: %t/two --steps 8 --compare %t/w1 --quiet --report json | FileCheck %s --check-prefix=SAME
// SAME: {"name": "w", "max_difference": {{0,|[0-9.]+e-0[6-9],}}
// SAME-SAME: {"name": "w.m", "max_difference": {{0,|[0-9.]+e-0[6-9],}}
// SAME-SAME: {"name": "loss",

// Two runs are equal bit for bit; eight steps equal four and four.
// RUN: %t/two --steps 8 --quiet --save-outputs %t/again
// RUN: cmp %t/w2/w.npy %t/again/w.npy
// RUN: %t/two --steps 4 --quiet --save-outputs %t/half
// RUN: %t/two --steps 4 --quiet --inputs %t/half --save-outputs %t/whole
// RUN: cmp %t/w2/w.npy %t/whole/w.npy
// RUN: cmp %t/w2/w.m.npy %t/whole/w.m.npy

// The plan and the lines of a run.
// RUN: %t/two --steps 2 | FileCheck %s --check-prefix=LINES
// LINES: plan: mesh dp=2
// LINES-NEXT: plan: parameters: 32 in 1 tensor; a rank has 128 B of them and 128 B of optimizer state
// LINES-NEXT: plan: memory per rank: {{.*}} B at its peak: {{.*}}parameters
// LINES-NEXT: plan: received per rank and step: {{[0-9]+}} B over dp (1 all_reduce)
// LINES-NEXT: {{^}}   step        loss   grad norm         lr         ms   tokens/s   MFU      memory  slowest{{$}}
// LINES-NEXT: {{^}}      1    2.619{{[0-9]+}}           -          - {{.*}} -   N/A {{.*}} rank {{[01]$}}
// LINES-NEXT: {{^}}      2
// LINES-NEXT: memory per rank after 2 steps: plan {{.*}} B, measured
// LINES-NEXT: two: 2 ranks x

// It changes its arguments in every step.
// RUN: not %t/one --steps 8 --on-nan=skip 2>&1 | FileCheck %s --check-prefix=SKIP
// SKIP: {{^}}tessera: error: rank 0: --on-nan=skip expects a training step that can leave its state as it was, with arguments of the role control and the result 'skipped': the compiler makes it of a forward function with a loss{{$}}

// The argument's role, the initial value, and the result that replaces it.
// RUN: %t/two --manifest | FileCheck %s --check-prefix=MANIFEST
// MANIFEST: "donate":0,{{[^}]*}}"init":{"kind":"normal"{{.*}}"name":"w",{{.*}}"role":"param"
// MANIFEST-SAME: "donate":1,{{.*}}"name":"w.m",{{.*}}"role":"state"
// MANIFEST-SAME: "memory":{

dist.mesh @mesh ["dp"=1]

func.func @train_step(
    %w: tensor<8x4xf32> {nn.param = "w", nn.init = #nn.init<normal, 0.5>, dist.donate = 0},
    %m: tensor<8x4xf32> {nn.state = "w.m", nn.of = "w", nn.init = #nn.init<zeros>, dist.donate = 1},
    %x: tensor<16x8xf32> {nn.input = "x", nn.init = #nn.init<normal, 1.0>, dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<16x4xf32> {nn.input = "y", nn.init = #nn.init<normal, 1.0>, dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32> {nn.output = "loss"}) {
  %p = nn.einsum "bi,io->bo" %x, %w : tensor<16x8xf32>, tensor<8x4xf32> -> tensor<16x4xf32>
  %e = arith.subf %p, %y : tensor<16x4xf32>
  %square = arith.mulf %e, %e : tensor<16x4xf32>
  %part = arith.constant dense<0.015625> : tensor<16x4xf32>
  %mean = arith.mulf %square, %part : tensor<16x4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%mean : tensor<16x4xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  %g = nn.einsum "bi,bo->io" %x, %e : tensor<16x8xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %half = arith.constant dense<0.5> : tensor<8x4xf32>
  %lr = arith.constant dense<0.01> : tensor<8x4xf32>
  %kept = arith.mulf %m, %half : tensor<8x4xf32>
  %m1 = arith.addf %kept, %g : tensor<8x4xf32>
  %step = arith.mulf %m1, %lr : tensor<8x4xf32>
  %w1 = arith.subf %w, %step : tensor<8x4xf32>
  return %w1, %m1, %loss : tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>
}
