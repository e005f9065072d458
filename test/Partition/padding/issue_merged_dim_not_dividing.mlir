// RUN: tessera verify %s --passes "builtin.module(dist-propagate-shardings,dist-decompose,dist-pad-factors,dist-insert-reshards,dist-place-reductions,dist-reshard-to-collectives,dist-global-to-local,dist-verify-local)"

// Nine rows of twelve are padded to ten for x; the 120 elements of the merged
// dimension divide by all six devices, the ten rows do not.

dist.mesh @mesh ["x"=2, "y"=3]

func.func @split(
    %a: tensor<9x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<9x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<9x12xf32> into tensor<108xf32>
  %1 = math.exp2 %0 {dist.shardings = [#dist.sharding<@mesh, [{"y", "x"}]>]} : tensor<108xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [9, 12]
      {dist.shardings = [#dist.sharding<@mesh, [{"x", ?}, {}]>]}
      : tensor<108xf32> into tensor<9x12xf32>
  return %2 : tensor<9x12xf32>
}
