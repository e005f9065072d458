// The inputs that programs fill from a file of tokens get their names.
// RUN: tessera-opt %s --nn-name-inputs="tokens=ids labels=y label-shift=0" | FileCheck %s
// RUN: tessera-opt %s --nn-name-inputs="tokens=ids" | FileCheck %s --check-prefix=TOKENS
// RUN: not tessera-opt %s --nn-name-inputs="tokens=x" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tessera-opt %s --nn-name-inputs="label-shift=0" 2>&1 | FileCheck %s --check-prefix=SHIFT

// CHECK: @f(%arg0: tensor<2x8xi32> {nn.input = "tokens"}, %arg1: tensor<2x8xi32> {nn.input = "labels", nn.label_shift = 0 : i64})
// TOKENS: @f(%arg0: tensor<2x8xi32> {nn.input = "tokens"}, %arg1: tensor<2x8xi32> {nn.input = "y"})
// NONE: error: expects an input for tokens but has none named x
// SHIFT: error: expects an input of labels that is shifted by 0 but has none
func.func @f(%ids: tensor<2x8xi32> {nn.input = "ids"}, %y: tensor<2x8xi32> {nn.input = "y"}) {
  return
}
