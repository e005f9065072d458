// RUN: tessera-opt %s --dist-plan-training="settings=micro-batches=2,clip=0.5,warmup=10" --dist-build-train-step | FileCheck %s
// RUN: tessera-opt %s --dist-plan-training="settings=precision=bf16,optimizer=sgd,momentum=0.9,clip=0" --dist-build-train-step | FileCheck %s --check-prefix=BF16
// RUN: tessera-opt %s --dist-plan-training="settings=precision=f16,groups=w*:lr=0.5:decay=0.25" --dist-build-train-step | FileCheck %s --check-prefix=F16
// RUN: tessera-opt %s --dist-build-train-step | FileCheck %s --check-prefix=NONE

// Nothing is built if there is no plan.
// NONE: func.func @forward
// NONE-NOT: train_step

// Parameters, state, batch, limits; each new value is donated its argument.
// CHECK-NOT: @forward
// CHECK: func.func @train_step(
// CHECK-SAME: %[[W:[^ ]+]]: tensor<8x4xf32> {dist.donate = 0 : i64, nn.dims = ["embed", "ffn"], nn.init = #nn.init<normal, 2.000000e-02 : f64>, nn.param = "w"}
// CHECK-SAME: %[[B:[^ ]+]]: tensor<4xf32> {dist.donate = 1 : i64, nn.init = #nn.init<zeros>, nn.param = "b"}
// CHECK-SAME: %[[UNUSED:[^ ]+]]: tensor<4xf32> {dist.donate = 2 : i64, nn.param = "unused"}
// CHECK-SAME: %[[WM:[^ ]+]]: tensor<8x4xf32> {dist.donate = 3 : i64, nn.init = #nn.init<zeros>, nn.of = "w", nn.state = "w.m"}
// CHECK-SAME: %[[WV:[^ ]+]]: tensor<8x4xf32> {dist.donate = 4 : i64, nn.init = #nn.init<zeros>, nn.of = "w", nn.state = "w.v"}
// CHECK-SAME: %[[STEP:[^ ]+]]: tensor<f32> {dist.donate = 9 : i64, nn.init = #nn.init<zeros>, nn.state = "step"}
// CHECK-SAME: %[[X:[^ ]+]]: tensor<2x3x8xf32> {nn.dims = ["micro_batch", "batch", "embed"], nn.input = "x"}
// CHECK-SAME: %[[Y:[^ ]+]]: tensor<2x3x4xf32> {nn.input = "y"}
// CHECK-SAME: %[[NORMLIMIT:[^ ]+]]: tensor<f32> {nn.control = "norm_limit"}
// CHECK-SAME: %[[LOSSLIMIT:[^ ]+]]: tensor<f32> {nn.control = "loss_limit"}
// CHECK-SAME: {nn.output = "loss"}, tensor<f32> {nn.output = "grad_norm"}, tensor<f32> {nn.output = "lr"}, tensor<f32> {nn.output = "num_labels"}, tensor<f32> {nn.output = "skipped"})

// The forward of one micro-batch without ops that no gradient needs, its
// backward from a seed of 1, and the sums.
// CHECK: %[[SUMS:.*]]:4 = dist.accumulate 2(%[[X]], %[[Y]])
// CHECK-NEXT: ^bb0(%[[XI:.*]]: tensor<3x8xf32>, %[[YI:.*]]: tensor<3x4xf32>):
// CHECK: nn.einsum "bd,df->bf" %[[XI]], %[[W]] : tensor<3x8xf32>, tensor<8x4xf32> -> tensor<3x4xf32>
// CHECK-NOT: arith.divf
// CHECK: %[[DW:.*]] = nn.einsum "bd,bf->df" %[[XI]]
// CHECK: dist.yield %{{.*}}, %{{.*}}, %[[DW]], %{{.*}} : tensor<f32>, tensor<f32>, tensor<8x4xf32>, tensor<4xf32>

// The loss of all micro-batches over all labels.
// CHECK: %[[COUNT:.*]] = arith.maximumf %[[SUMS]]#1
// CHECK-NEXT: %[[LOSS:.*]] = arith.divf %[[SUMS]]#0, %[[COUNT]]
// CHECK: arith.mulf %[[SUMS]]#2, %[[SUMS]]#2
// CHECK: arith.mulf %[[SUMS]]#3, %[[SUMS]]#3
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK: %[[NORM:.*]] = arith.divf %[[ROOT]], %[[COUNT]]
// CHECK: %[[CLIP:.*]] = arith.minimumf
// CHECK-NEXT: %[[SCALE:.*]] = arith.divf %[[CLIP]], %[[COUNT]]
// CHECK: arith.addf %[[STEP]],
// CHECK-COUNT-2: math.exp
// CHECK: arith.truncf
// CHECK: %[[RATE:.*]] = arith.minimumf
// CHECK: %[[LR:.*]] = arith.truncf %{{.*}} : tensor<f64> to tensor<f32>

// A step whose norm or loss is NaN or not below its limit changes nothing.
// CHECK: %[[ISOVER:.*]] = arith.cmpf uge, %[[NORM]], %[[NORMLIMIT]] : tensor<f32>
// CHECK: %[[COSTS:.*]] = arith.cmpf uge, %[[LOSS]], %[[LOSSLIMIT]] : tensor<f32>
// CHECK: %[[SKIP:.*]] = arith.ori %[[ISOVER]], %[[COSTS]] : tensor<i1>
// CHECK: %[[SKIPPED:.*]] = arith.uitofp %[[SKIP]] : tensor<i1> to tensor<f32>
// CHECK: %[[DONE:.*]] = arith.subf %{{.*}}, %[[SKIPPED]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[STEP]], %[[DONE]]

// Matrices decay, vectors do not; a parameter without a gradient stays.
// CHECK: %[[NW:.*]], %[[NWM:.*]], %[[NWV:.*]] = nn.adamw %[[W]], %[[WM]], %[[WV]], %[[SUMS]]#2 scale %[[SCALE]] lr %[[LR]]
// CHECK-SAME: skip %[[SKIP]]
// CHECK-SAME: weight_decay 1.000000e-01
// CHECK: nn.adamw %[[B]], {{.*}} skip %[[SKIP]] {{.*}} weight_decay 0.000000e+00
// CHECK: return %[[NW]], %{{.*}}, %[[UNUSED]], %[[NWM]], %[[NWV]], {{.*}}, %[[NEXT]], %[[LOSS]], %[[NORM]], %[[LR]], %[[SUMS]]#1, %[[SKIPPED]]

// A master copy in f32 that is initialized from its parameter; gradients of
// matmuls are f32, losses stay in f32.
// BF16: func.func @train_step(
// BF16-SAME: %[[W:[^ ]+]]: tensor<8x4xbf16> {dist.donate = 0 : i64
// BF16-SAME: %[[MASTER:[^ ]+]]: tensor<8x4xf32> {dist.donate = 3 : i64, nn.init = #nn.init<normal, 2.000000e-02 : f64>, nn.master, nn.of = "w", nn.state = "w.master"}
// BF16-SAME: %[[VELOCITY:[^ ]+]]: tensor<8x4xf32> {dist.donate = 4 : i64, nn.init = #nn.init<zeros>, nn.of = "w", nn.state = "w.velocity"}
// BF16-SAME: %[[X:[^ ]+]]: tensor<1x6x8xf32>
// BF16: dist.accumulate 1
// BF16: %[[XI:.*]] = arith.truncf %{{.*}} : tensor<6x8xf32> to tensor<6x8xbf16>
// BF16: nn.einsum "bd,df->bf" %[[XI]], %[[W]] : tensor<6x8xbf16>, tensor<8x4xbf16> -> tensor<6x4xbf16>
// BF16: nn.einsum "bd,bf->df" {{.*}} : tensor<6x8xbf16>, tensor<6x4xbf16> -> tensor<8x4xf32>
// BF16: %[[NEW:.*]], %[[NEWV:.*]] = nn.sgd %[[MASTER]], {{.*}} velocity %[[VELOCITY]] : tensor<8x4xf32> skip %{{.*}} momentum 9.000000e-01
// BF16: %[[NARROW:.*]] = arith.truncf %[[NEW]] : tensor<8x4xf32> to tensor<8x4xbf16>
// BF16: return %[[NARROW]],

// The loss is scaled before the backward. A step that overflows changes the
// scale alone; under a limit of -infinity it changes nothing.
// F16: %[[LOSSSCALE:[^ ]+]]: tensor<f32> {dist.donate = {{[0-9]+}} : i64, nn.init = #nn.init<constant, 1.280000e+02 : f64>, nn.state = "loss_scale"}
// F16-SAME: %[[GOOD:[^ ]+]]: tensor<f32> {{{[^}]*}}nn.state = "good_steps"}
// F16-SAME: %[[NORMLIMIT:[^ ]+]]: tensor<f32> {nn.control = "norm_limit"}
// F16-SAME: {nn.output = "skipped"}
// F16: nn.reduce <sum> %{{.*}} dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
// F16: nn.broadcast %[[LOSSSCALE]]
// F16: dist.yield {{.*}} : tensor<f32>, tensor<f32>, tensor<8x4xf32>, tensor<4xf32>
// F16: arith.mulf %{{.*}}, %[[LOSSSCALE]]
// F16-COUNT-2: math.exp
// F16: arith.truncf
// F16: %[[RATE:.*]] = arith.truncf %{{.*}} : tensor<f64> to tensor<f32>
// F16: %[[SKIP:.*]] = arith.ori
// F16: %[[INF:.*]] = arith.constant dense<0x7F800000> : tensor<f32>
// F16: %[[OVERFLOWS:.*]] = arith.cmpf uge, %{{.*}}, %[[INF]]
// F16: %[[NEGINF:.*]] = arith.constant dense<0xFF800000> : tensor<f32>
// F16: %[[MAYCHANGE:.*]] = arith.cmpf ogt, %[[NORMLIMIT]], %[[NEGINF]]
// F16: %[[SHRINKS:.*]] = arith.andi %[[OVERFLOWS]], %[[MAYCHANGE]]
// F16: %[[KEPT:.*]] = arith.select %[[SKIP]], %[[LOSSSCALE]],
// F16: arith.select %[[SHRINKS]], %{{.*}}, %[[KEPT]]
// F16: %[[KEPT:.*]] = arith.select %[[SKIP]], %[[GOOD]],
// F16: arith.select %[[SHRINKS]], %{{.*}}, %[[KEPT]]
// F16: arith.select %[[OVERFLOWS]], %[[INF]],
// F16: %[[HALF:.*]] = arith.mulf %[[RATE]], %{{.*}} : tensor<f32>
// F16: nn.adamw {{.*}} lr %[[HALF]] {{.*}} skip %[[SKIP]] {{.*}} weight_decay 2.500000e-01
func.func @forward(%x: tensor<6x8xf32> {nn.input = "x", nn.dims = ["batch", "embed"]}, %y: tensor<6x4xf32> {nn.input = "y"},
    %w: tensor<8x4xf32> {nn.param = "w", nn.dims = ["embed", "ffn"], nn.init = #nn.init<normal, 2.0e-02>},
    %b: tensor<4xf32> {nn.param = "b", nn.init = #nn.init<zeros>}, %unused: tensor<4xf32> {nn.param = "unused"})
    -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "loss_sum"}, tensor<f32> {nn.output = "tokens"}) {
  %0 = nn.einsum "bd,df->bf" %x, %w : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %2 = arith.addf %0, %1 : tensor<6x4xf32>
  %3 = arith.subf %2, %y : tensor<6x4xf32>
  %4 = arith.mulf %3, %3 : tensor<6x4xf32>
  %sum = nn.reduce <sum> %4 dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %known = arith.cmpf ord, %y, %y : tensor<6x4xf32>
  %ones = arith.uitofp %known : tensor<6x4xi1> to tensor<6x4xf32>
  %count = nn.reduce <sum> %ones dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  return %mean, %sum, %count : tensor<f32>, tensor<f32>, tensor<f32>
}
