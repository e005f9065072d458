// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

func.func @routing(%x: tensor<4x32x8xf32>, %g: tensor<4x32x2xf32>) {
  // A row is compared as a whole.
  // expected-remark @+1 {{([i,j,k])->([i,j,1]) {i=4, j=32, k=8 replicated}}}
  %ids = nn.top_k 2 %x : tensor<4x32x8xf32> -> tensor<4x32x2xi32>
  // expected-remark @+1 {{([i,j,k],[i,j,l])->([i,j,l]) {i=4, j=32, k=8 sum positional, l=2}; partial sum in {0}}}
  %0 = nn.take_along_axis %x, %ids : tensor<4x32x8xf32>, tensor<4x32x2xi32> -> tensor<4x32x2xf32>
  // expected-remark @+1 {{([i,j,l],[i,j,l])->([i,j,k]) {i=4, j=32, k=8 positional, l=2 sum}; partial sum in {0}}}
  %1 = nn.take_along_axis_backward %g, %ids : tensor<4x32x2xf32>, tensor<4x32x2xi32> -> tensor<4x32x8xf32>
  // The choices of a sequence are counted as a whole.
  // expected-remark @+1 {{([i,j,k],[i,j,k])->([i,j,k]) {i=4, j=32 replicated positional, k=2 replicated}}}
  %2 = nn.expert_capacity 5 of 8 %ids, %g : tensor<4x32x2xi32>, tensor<4x32x2xf32>
  return
}

// Experts: l. Each device adds the experts that it holds to y.
func.func @experts(%x: tensor<4x32x64xf32>, %y: tensor<4x32x48xf32>, %ids: tensor<4x32x2xi32>,
                   %c: tensor<4x32x2xf32>, %wu: tensor<8x64x96xf32>, %wd: tensor<8x96x48xf32>,
                   %rx: tensor<4x32x8x64xf32>, %ry: tensor<4x32x8x48xf32>, %s: tensor<4x32x8x96xf32>) {
  // expected-remark @+1 {{([i,j,m],[i,j,k],[i,j,k],[l,m,n],[l,m,n],[l,n,o])->([i,j,o],[i,j,l,n],[i,j,l,n]) {i=4, j=32, k=2 replicated, l=8 sum positional, m=64 replicated, n=96 sum, o=48}}}
  %0, %1, %2 = nn.experts <silu> of 8 %x, %ids, %c, %wu, %wu, %wd
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xf32>,
        tensor<8x96x48xf32> -> tensor<4x32x48xf32> stats tensor<4x32x8x96xf32>, tensor<4x32x8x96xf32>
  // expected-remark @+1 {{([i,j,m],[i,j,k])->([i,j,l,m]) {i=4, j=32, k=2 replicated, l=8 positional, m=64}; partial sum in {0}}}
  %3 = nn.expert_rows %x, %ids : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x8x64xf32>
  // Linear in the gradient of y.
  // expected-remark @+1 {{([i,j,o],[i,j,k],[i,j,k],[l,m,n],[l,m,n],[l,n,o],[i,j,l,n],[i,j,l,n])->([i,j,m],[i,j,k],[i,j,l,n],[i,j,l,n]) {i=4, j=32, k=2 replicated, l=8 sum positional, m=64, n=96 sum, o=48 sum}; partial sum in {0}}}
  %4, %5, %6, %7 = nn.experts_backward <silu> of 8 %y, %ids, %c, %wu, %wu, %wd, %s, %s
      : tensor<4x32x48xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xf32>,
        tensor<8x96x48xf32>, tensor<4x32x8x96xf32> -> tensor<4x32x64xf32>
  // expected-remark @+1 {{([i,j,l,m],[i,j,l,o],[i,j,k],[i,j,k],[i,j,l,n],[i,j,l,n],[i,j,l,n],[i,j,l,n])->([l,m,n],[l,m,n],[l,n,o]) {i=4 sum, j=32 sum, k=2 replicated, l=8 positional, m=64, n=96, o=48}}}
  %8, %9, %10 = nn.experts_weight_gradient <silu> of 8 %rx, %ry, %ids, %c, %s, %s, %s, %s
      : tensor<4x32x8x64xf32>, tensor<4x32x8x48xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>,
        tensor<4x32x8x96xf32> -> tensor<8x64x96xf32>, tensor<8x96x48xf32>
  return
}
