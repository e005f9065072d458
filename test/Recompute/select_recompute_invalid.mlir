// RUN: tessera-opt %s --dist-select-recompute=policy=auto=10 -split-input-file -verify-diagnostics

// Outside the blocks of a model nothing is recomputed: the value must be kept.
// expected-error@+1 {{recompute: expects auto=32 at least, the bytes that a device must keep of a micro-batch for the backward, but got auto=10}}
func.func @head(%x: tensor<8xf32>, %w: tensor<8xf32> {nn.param = "head"}) -> tensor<8xf32> {
  %0 = arith.mulf %x, %w : tensor<8xf32>
  %1 = arith.mulf %0, %x {dist.backward} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// More bytes than an integer can count are too many to keep.
// expected-error@+1 {{recompute: expects auto=281474976710656 at least, the bytes that a device must keep of a micro-batch for the backward, but got auto=10}}
func.func @huge(%x: tensor<4294967296x4294967296xf32>, %w: tensor<4294967296x4294967296xf32> {nn.param = "head"}) -> tensor<4294967296x4294967296xf32> {
  %0 = arith.mulf %x, %w : tensor<4294967296x4294967296xf32>
  %1 = arith.mulf %0, %x {dist.backward} : tensor<4294967296x4294967296xf32>
  return %1 : tensor<4294967296x4294967296xf32>
}
