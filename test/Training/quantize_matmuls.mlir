// RUN: tessera-opt %s --dist-plan-training="settings=precision=fp8,micro-batches=2,optimizer=sgd,clip=0" --dist-build-train-step | FileCheck %s
// RUN: tessera-opt %s --dist-plan-training="settings=precision=bf16,micro-batches=2,optimizer=sgd,clip=0" --dist-build-train-step | FileCheck %s --check-prefix=BF16

// BF16-NOT: nn.quantize
// BF16: nn.einsum "bd,df->bf" {{.*}} tensor<8x4xbf16> -> tensor<3x4xbf16>

// Weights are quantized once per step, before the micro-batches; not the head's,
// which computes the classes of a loss, whatever the names of dimensions.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[W:[^ ]+]]: tensor<8x4xbf16> {{{.*}}nn.param = "w"}
// CHECK-SAME: %[[U:[^ ]+]]: tensor<8x4xbf16> {{{.*}}nn.param = "u"}
// CHECK-SAME: %[[HEAD:[^ ]+]]: tensor<4x6xbf16> {{{.*}}nn.param = "head"}
// CHECK: %[[ABS:.*]] = math.absf %[[W]]
// CHECK: %[[AMAX:.*]] = nn.reduce <max> %[[ABS]] dims [0, 1] : tensor<8x4xbf16> -> tensor<bf16>
// CHECK: %[[QW:.*]], %[[SW:.*]] = nn.quantize %[[W]] by %[[AMAX]] {{.*}} -> tensor<8x4xf8E4M3FN>
// CHECK: %[[QU:.*]], %[[SU:.*]] = nn.quantize %[[U]] by {{.*}} -> tensor<8x4xf8E4M3FN>
// CHECK-NOT: nn.quantize
// CHECK: dist.accumulate

// An input of both layers is quantized once.
// CHECK: %[[QX:.*]], %[[SX:.*]] = nn.quantize %[[X:.*]] by {{.*}} -> tensor<3x8xf8E4M3FN>
// CHECK-NEXT: nn.einsum "bd,df->bf" %[[QX]], %[[QW]] scales %[[SX]], %[[SW]] : {{.*}} -> tensor<3x4xbf16>
// CHECK-NEXT: nn.einsum "bd,df->bf" %[[QX]], %[[QU]] scales %[[SX]], %[[SU]]
// CHECK: nn.einsum "bf,fv->bv" %{{.*}}, %[[HEAD]] : tensor<3x4xbf16>, tensor<4x6xbf16> -> tensor<3x6xbf16>

// The gradient of a result is quantized to another type, once; the gradient of
// a weight is in f32.
// CHECK: %[[QG:.*]], %[[SG:.*]] = nn.quantize %{{.*}} by {{.*}} -> tensor<3x4xf8E5M2>
// CHECK: nn.einsum "bd,bf->df" %[[QX]], %[[QG]] scales %[[SX]], %[[SG]] {{.*}} : tensor<3x8xf8E4M3FN>, tensor<3x4xf8E5M2> -> tensor<8x4xf32>
// CHECK-COUNT-1: nn.quantize {{.*}} -> tensor<3x4xf8E5M2>
// CHECK-NOT: nn.quantize
// CHECK: dist.yield
func.func @forward(%w: tensor<8x4xf32> {nn.param = "w", nn.dims = ["embed", "vocab"]},
                   %u: tensor<8x4xf32> {nn.param = "u", nn.dims = ["embed", "ffn"]},
                   %head: tensor<4x6xf32> {nn.param = "head", nn.dims = ["ffn", "classes"]},
                   %gain: tensor<8xf32> {nn.param = "gain"},
                   %x: tensor<6x8xf32> {nn.input = "x", nn.dims = ["batch", "embed"]},
                   %labels: tensor<6xi32> {nn.input = "labels", nn.dims = ["batch"]})
    -> (tensor<f32> {nn.output = "loss"}) {
  %n = nn.rms_norm %x, %gain eps 1.0e-5 : tensor<6x8xf32>, tensor<8xf32>
  %0 = nn.einsum "bd,df->bf" %n, %w : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %1 = nn.einsum "bd,df->bf" %n, %u : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %2 = nn.silu %1 : tensor<6x4xf32>
  %3 = arith.mulf %0, %2 : tensor<6x4xf32>
  %4 = nn.einsum "bf,fv->bv" %3, %head : tensor<6x4xf32>, tensor<4x6xf32> -> tensor<6x6xf32>
  %5 = nn.cross_entropy %4, %labels ignore -100 : tensor<6x6xf32>, tensor<6xi32> -> tensor<6xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<6xf32> -> tensor<f32>
  return %6 : tensor<f32>
}
