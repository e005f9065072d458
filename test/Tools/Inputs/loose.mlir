// An op that cannot be lowered for the host.
func.func @loose() -> tensor<4xindex> {
  %0 = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex>
  return %0 : tensor<4xindex>
}
