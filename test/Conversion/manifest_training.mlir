// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-convert-nn,rt-fuse-elementwise),rt-outline-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt{program=test})' | FileCheck %s

// State, the parameter that initializes a master copy, the result that replaces
// an argument, and the plan for readers. Moments have a parameter, but not its
// values; a result has the name of the argument that is donated to it.
// CHECK: rt.manifest = "
// CHECK-SAME: {{{[^}]*}}\22donate\22:0{{[^}]*}}\22init\22:{\22kind\22:\22zeros\22}{{[^}]*}}\22name\22:\22b\22{{[^}]*}}\22role\22:\22param\22
// CHECK-SAME: {{{[^}]*}}\22donate\22:1{{[^}]*}}\22init\22:{\22kind\22:\22zeros\22}{{[^}]*}}\22name\22:\22b.m\22,\22offset\22{{[^}]*}}\22role\22:\22state\22
// CHECK-SAME: \22name\22:\22b.copy\22,\22of\22:\22b\22{{[^}]*}}\22role\22:\22state\22
// CHECK-SAME: \22name\22:\22tokens\22{{[^}]*}}\22role\22:\22input\22
// CHECK-SAME: \22memory\22:{{{[^}]*}}\22parameters\22:64
// CHECK-SAME: \22plan\22:[\22mesh dp=2; trained in bf16, gradients in f32, 2 micro-batches, zero=2, recompute none\22,
// CHECK-SAME: \22parameters: 8 in 1 tensor; a rank has 16 B of them and 48 B of optimizer state\22,
// CHECK-SAME: \22memory per rank: {{[0-9]+}} B at its peak:
// CHECK-SAME: \22received per rank and step: 16 B over dp (1 all_reduce)\22,
// CHECK-SAME: \22optimizer: adamw (beta1 0.9, beta2 0.95, eps 1e-08), weight decay 0.1, norm clipped at 1, lr 0.003 after 10 steps of warm-up, as a cosine to 0.0003 at step 100\22]
// CHECK-SAME: \22results\22:{{.*}}\22name\22:\22b\22{{.*}}\22name\22:\22b.m\22{{.*}}\22name\22:\22loss\22
module attributes {dist.plan = #dist.plan<precision = bf16, micro_batches = 2, zero = 2, lr_schedule = cosine, lr = 3.0e-03, min_lr = 3.0e-04, warmup = 10, total_steps = 100>} {
  dist.mesh @mesh ["dp"=2]
  func.func @train_step(
      %b: tensor<8xbf16> {nn.param = "b", nn.init = #nn.init<zeros>, dist.donate = 0},
      %m: tensor<4xf32> {nn.state = "b.m", nn.of = "b", nn.init = #nn.init<zeros>, dist.donate = 1,
                         dist.sharding = #dist.sharding<@mesh, [{"dp"}]>},
      %master: tensor<8xf32> {nn.state = "b.copy", nn.of = "b", nn.master, nn.init = #nn.init<zeros>},
      %x: tensor<4xf32> {nn.input = "tokens"})
      -> (tensor<8xbf16>, tensor<4xf32>, tensor<4xf32> {nn.output = "loss"}) attributes {dist.local} {
    %sum = dist.all_reduce <sum> %x over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    %new = nn.silu %m : tensor<4xf32>
    %narrow = nn.silu %b : tensor<8xbf16>
    return %narrow, %new, %sum : tensor<8xbf16>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A forward pass has no optimizer; a single rank receives nothing.
// CHECK: \22plan\22:[\22one rank\22,\22parameters: 32 in 1 tensor; a rank has 128 B\22,\22memory per rank: {{[^"]*}},\22communication: none\22]
func.func @softmax(%x: tensor<4x8xf32> {nn.param = "x"}) -> (tensor<4x8xf32> {nn.output = "y"}) {
  %0 = nn.softmax %x dim 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
