// A parameter's view of a tensor in a file, or of several tensors; a tensor may
// have no dimensions.
// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// CHECK: nn.source = #nn.source<"qkv", [8, 6], offset 2, strides [6, 1]>
// CHECK: nn.source = #nn.source<"scale", [], offset 0, strides []>
// CHECK: nn.source = #nn.source<"experts.*.w", [4, 6], offset 0, strides [0, 1, 6]>
func.func @views(
    %keys: tensor<8x2xf32> {nn.param = "k", nn.source = #nn.source<"qkv", [8, 6], offset 2, strides [6, 1]>},
    %scale: tensor<f32> {nn.param = "scale", nn.source = #nn.source<"scale", [], offset 0, strides []>},
    %experts: tensor<8x6x4xf32> {nn.param = "w", nn.source = #nn.source<"experts.*.w", [4, 6], offset 0, strides [0, 1, 6]>}) {
  return
}
