"builtin.module"() <{sym_name = "jit_patterns_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<67x48xf32>, tensor<48x48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x2x12xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48x48xf32>, tensor<48x4x12xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x2x12xf32>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg14: tensor<67x48xf32> loc("p['embed']"), %arg15: tensor<48x48xf32> loc("p['erf']"), %arg16: tensor<48xf32> loc("p['gain']"), %arg17: tensor<48x48xf32> loc("p['gate']"), %arg18: tensor<48x2x12xf32> loc("p['k']"), %arg19: tensor<48xf32> loc("p['norm']['bias']"), %arg20: tensor<48xf32> loc("p['norm']['scale']"), %arg21: tensor<48x48xf32> loc("p['out']"), %arg22: tensor<48x4x12xf32> loc("p['q']"), %arg23: tensor<48x48xf32> loc("p['tanh']"), %arg24: tensor<48x48xf32> loc("p['up']"), %arg25: tensor<48x2x12xf32> loc("p['v']"), %arg26: tensor<2x24xi32> loc("tokens"), %arg27: tensor<2x24xi32> loc("labels")):
    %60 = "stablehlo.constant"() <{value = dense<1.12837911> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %61 = "stablehlo.constant"() <{value = dense<-0.37612626> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %62 = "stablehlo.constant"() <{value = dense<0.112835854> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %63 = "stablehlo.constant"() <{value = dense<-0.0268538129> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %64 = "stablehlo.constant"() <{value = dense<0.00518832775> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %65 = "stablehlo.constant"() <{value = dense<-8.0101937E-4> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %66 = "stablehlo.constant"() <{value = dense<7.85386146E-5> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %67 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %68 = "stablehlo.constant"() <{value = dense<-88.7228394> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %69 = "stablehlo.constant"() <{value = dense<0.564189494> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %70 = "stablehlo.constant"() <{value = dense<-0.282076746> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %71 = "stablehlo.constant"() <{value = dense<0.42184633> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %72 = "stablehlo.constant"() <{value = dense<-1.01526523> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %73 = "stablehlo.constant"() <{value = dense<2.92101908> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %74 = "stablehlo.constant"() <{value = dense<-7.49551868> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %75 = "stablehlo.constant"() <{value = dense<1.297720e+01> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %76 = "stablehlo.constant"() <{value = dense<-10.477664> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %77 = "stablehlo.constant"() <{value = dense<0.563825965> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %78 = "stablehlo.constant"() <{value = dense<-0.274112701> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %79 = "stablehlo.constant"() <{value = dense<3.404880e-01> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %80 = "stablehlo.constant"() <{value = dense<-0.494451523> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %81 = "stablehlo.constant"() <{value = dense<0.621000468> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %82 = "stablehlo.constant"() <{value = dense<-0.582473278> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %83 = "stablehlo.constant"() <{value = dense<0.368742466> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %84 = "stablehlo.constant"() <{value = dense<-0.138703942> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %85 = "stablehlo.constant"() <{value = dense<2.326820e-02> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %86 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %87 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<2x24x48xf32>}> : () -> tensor<2x24x48xf32>
    %88 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %89 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %90 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %91 = "stablehlo.constant"() <{value = dense<0.707106769> : tensor<f32>}> : () -> tensor<f32>
    %92 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %93 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %94 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %95 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %96 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %97 = "stablehlo.constant"() <{value = dense<0.288675129> : tensor<f32>}> : () -> tensor<f32>
    %98 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %99 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %100 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %101 = "stablehlo.constant"() <{value = dense<4.800000e+01> : tensor<f32>}> : () -> tensor<f32>
    %102 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %103 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %104 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %105 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %106 = "stablehlo.compare"(%arg26, %105) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi1>
    %107 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24xi32>
    %108 = "stablehlo.add"(%arg26, %107) : (tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %109 = "stablehlo.select"(%106, %108, %arg26) : (tensor<2x24xi1>, tensor<2x24xi32>, tensor<2x24xi32>) -> tensor<2x24xi32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %111 = "stablehlo.gather"(%arg14, %110) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 48>}> : (tensor<67x48xf32>, tensor<2x24x1xi32>) -> tensor<2x24x48xf32>
    %112 = "stablehlo.multiply"(%111, %111) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %113 = "stablehlo.reduce"(%112, %102) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg42: tensor<f32>, %arg43: tensor<f32>):
      %369 = "stablehlo.add"(%arg42, %arg43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%369) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %114 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %115 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %116 = "stablehlo.divide"(%114, %115) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %117 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %118 = "stablehlo.add"(%116, %117) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %119 = "stablehlo.rsqrt"(%118) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %120 = "stablehlo.broadcast_in_dim"(%119) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %121 = "stablehlo.multiply"(%111, %120) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %122 = "stablehlo.broadcast_in_dim"(%arg16) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %123 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %124 = "stablehlo.multiply"(%121, %123) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %125 = "stablehlo.dot_general"(%124, %arg22) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x4x12xf32>) -> tensor<2x24x4x12xf32>
    %126 = "stablehlo.dot_general"(%124, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x2x12xf32>) -> tensor<2x24x2x12xf32>
    %127 = "stablehlo.dot_general"(%124, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x2x12xf32>) -> tensor<2x24x2x12xf32>
    %128 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %129 = "stablehlo.negate"(%128) : (tensor<6xi32>) -> tensor<6xi32>
    %130 = "stablehlo.convert"(%129) : (tensor<6xi32>) -> tensor<6xf32>
    %131 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %132 = "stablehlo.divide"(%130, %131) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %133 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %134 = "stablehlo.power"(%133, %132) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %135 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %137 = "stablehlo.convert"(%136) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %138 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %139 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %140 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %141 = "stablehlo.multiply"(%139, %140) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %142 = "stablehlo.cosine"(%141) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %143 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %144 = "stablehlo.sine"(%141) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %145 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %146 = "stablehlo.slice"(%125) <{limit_indices = array<i64: 2, 24, 4, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %147 = "stablehlo.slice"(%125) <{limit_indices = array<i64: 2, 24, 4, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x4x12xf32>) -> tensor<2x24x4x6xf32>
    %148 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %149 = "stablehlo.broadcast_in_dim"(%148) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %150 = "stablehlo.multiply"(%146, %149) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %151 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %152 = "stablehlo.broadcast_in_dim"(%151) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %153 = "stablehlo.multiply"(%147, %152) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %154 = "stablehlo.subtract"(%150, %153) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %155 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %156 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %157 = "stablehlo.multiply"(%147, %156) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %158 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x4x6xf32>
    %160 = "stablehlo.multiply"(%146, %159) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %161 = "stablehlo.add"(%157, %160) : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x6xf32>
    %162 = "stablehlo.concatenate"(%154, %161) <{dimension = 3 : i64}> : (tensor<2x24x4x6xf32>, tensor<2x24x4x6xf32>) -> tensor<2x24x4x12xf32>
    %163 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %164 = "stablehlo.negate"(%163) : (tensor<6xi32>) -> tensor<6xi32>
    %165 = "stablehlo.convert"(%164) : (tensor<6xi32>) -> tensor<6xf32>
    %166 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %167 = "stablehlo.divide"(%165, %166) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %168 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<6xf32>
    %169 = "stablehlo.power"(%168, %167) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %170 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24xi32>
    %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0>}> : (tensor<24xi32>) -> tensor<24x1xi32>
    %172 = "stablehlo.convert"(%171) : (tensor<24x1xi32>) -> tensor<24x1xf32>
    %173 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>) -> tensor<1x6xf32>
    %174 = "stablehlo.broadcast_in_dim"(%172) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xf32>) -> tensor<24x6xf32>
    %175 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x6xf32>) -> tensor<24x6xf32>
    %176 = "stablehlo.multiply"(%174, %175) : (tensor<24x6xf32>, tensor<24x6xf32>) -> tensor<24x6xf32>
    %177 = "stablehlo.cosine"(%176) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %178 = "stablehlo.broadcast_in_dim"(%177) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %179 = "stablehlo.sine"(%176) : (tensor<24x6xf32>) -> tensor<24x6xf32>
    %180 = "stablehlo.broadcast_in_dim"(%179) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<24x6xf32>) -> tensor<24x1x6xf32>
    %181 = "stablehlo.slice"(%126) <{limit_indices = array<i64: 2, 24, 2, 6>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %182 = "stablehlo.slice"(%126) <{limit_indices = array<i64: 2, 24, 2, 12>, start_indices = array<i64: 0, 0, 0, 6>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x24x2x12xf32>) -> tensor<2x24x2x6xf32>
    %183 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %184 = "stablehlo.broadcast_in_dim"(%183) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %185 = "stablehlo.multiply"(%181, %184) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %186 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %187 = "stablehlo.broadcast_in_dim"(%186) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %188 = "stablehlo.multiply"(%182, %187) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %189 = "stablehlo.subtract"(%185, %188) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %190 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %192 = "stablehlo.multiply"(%182, %191) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %193 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<24x1x6xf32>) -> tensor<1x24x1x6xf32>
    %194 = "stablehlo.broadcast_in_dim"(%193) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x24x1x6xf32>) -> tensor<2x24x2x6xf32>
    %195 = "stablehlo.multiply"(%181, %194) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %196 = "stablehlo.add"(%192, %195) : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x6xf32>
    %197 = "stablehlo.concatenate"(%189, %196) <{dimension = 3 : i64}> : (tensor<2x24x2x6xf32>, tensor<2x24x2x6xf32>) -> tensor<2x24x2x12xf32>
    %198 = "stablehlo.reshape"(%162) : (tensor<2x24x4x12xf32>) -> tensor<2x24x2x2x12xf32>
    %199 = "stablehlo.dot_general"(%198, %197) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x24x2x2x12xf32>, tensor<2x24x2x12xf32>) -> tensor<2x2x24x2x24xf32>
    %200 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x2x24xf32>
    %201 = "stablehlo.multiply"(%199, %200) : (tensor<2x2x24x2x24xf32>, tensor<2x2x24x2x24xf32>) -> tensor<2x2x24x2x24xf32>
    %202 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x24x24xi1>
    %203 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1>
    %204 = "func.call"(%203) <{callee = @tril}> : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %205 = "stablehlo.broadcast_in_dim"(%204) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<24x24xi1>) -> tensor<1x1x24x24xi1>
    %206 = "stablehlo.broadcast_in_dim"(%205) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x24x24xi1>) -> tensor<2x2x24x24xi1>
    %207 = "stablehlo.and"(%202, %206) : (tensor<2x2x24x24xi1>, tensor<2x2x24x24xi1>) -> tensor<2x2x24x24xi1>
    %208 = "func.call"(%207, %201, %95) <{callee = @_where}> : (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>
    %209 = "stablehlo.reduce"(%208, %94) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg40: tensor<f32>, %arg41: tensor<f32>):
      %368 = "stablehlo.maximum"(%arg40, %arg41) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%368) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %210 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x24xf32>
    %211 = "stablehlo.maximum"(%210, %209) : (tensor<2x2x2x24xf32>, tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %212 = "stablehlo.broadcast_in_dim"(%211) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %213 = "stablehlo.broadcast_in_dim"(%212) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %214 = "stablehlo.subtract"(%208, %213) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %215 = "stablehlo.exponential"(%214) : (tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %216 = "stablehlo.reduce"(%215, %102) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<f32>):
      %367 = "stablehlo.add"(%arg38, %arg39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%367) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x24x24xf32>, tensor<f32>) -> tensor<2x2x2x24xf32>
    %217 = "stablehlo.broadcast_in_dim"(%216) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x24xf32>) -> tensor<2x2x2x24x1xf32>
    %218 = "stablehlo.broadcast_in_dim"(%217) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x2x24x1xf32>) -> tensor<2x2x2x24x24xf32>
    %219 = "stablehlo.divide"(%215, %218) : (tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32>
    %220 = "stablehlo.dot_general"(%127, %219) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x24x2x12xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x12x2x24xf32>
    %221 = "stablehlo.transpose"(%220) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x12x2x24xf32>) -> tensor<2x2x24x2x12xf32>
    %222 = "stablehlo.transpose"(%221) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<2x2x24x2x12xf32>) -> tensor<2x24x2x2x12xf32>
    %223 = "stablehlo.reshape"(%222) : (tensor<2x24x2x2x12xf32>) -> tensor<2x24x4x12xf32>
    %224 = "stablehlo.reshape"(%223) : (tensor<2x24x4x12xf32>) -> tensor<2x24x48xf32>
    %225 = "stablehlo.dot_general"(%224, %arg21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %226 = "stablehlo.add"(%111, %225) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %227 = "stablehlo.reduce"(%226, %102) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg36: tensor<f32>, %arg37: tensor<f32>):
      %366 = "stablehlo.add"(%arg36, %arg37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%366) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %228 = "stablehlo.broadcast_in_dim"(%227) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %229 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %230 = "stablehlo.divide"(%228, %229) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %231 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %232 = "stablehlo.subtract"(%226, %231) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %233 = "stablehlo.multiply"(%232, %232) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %234 = "stablehlo.reduce"(%233, %102) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %365 = "stablehlo.add"(%arg34, %arg35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%365) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %235 = "stablehlo.broadcast_in_dim"(%234) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %236 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %237 = "stablehlo.divide"(%235, %236) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %238 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %239 = "stablehlo.subtract"(%226, %238) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %240 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32>
    %241 = "stablehlo.add"(%237, %240) : (tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %242 = "stablehlo.rsqrt"(%241) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
    %243 = "stablehlo.broadcast_in_dim"(%242) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %244 = "stablehlo.multiply"(%239, %243) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %245 = "stablehlo.broadcast_in_dim"(%arg20) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %246 = "stablehlo.broadcast_in_dim"(%245) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %247 = "stablehlo.multiply"(%244, %246) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %248 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2>}> : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %249 = "stablehlo.broadcast_in_dim"(%248) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
    %250 = "stablehlo.add"(%247, %249) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %251 = "stablehlo.dot_general"(%250, %arg17) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %252 = "func.call"(%251) <{callee = @silu}> : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %253 = "stablehlo.dot_general"(%250, %arg24) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %254 = "stablehlo.multiply"(%252, %253) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %255 = "stablehlo.add"(%226, %254) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %256 = "stablehlo.dot_general"(%255, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %257 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %258 = "stablehlo.multiply"(%257, %256) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %259 = "stablehlo.negate"(%256) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %260 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %261 = "stablehlo.multiply"(%259, %260) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %262 = "stablehlo.multiply"(%261, %261) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %263 = "stablehlo.negate"(%262) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %264 = "stablehlo.abs"(%261) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %265 = "stablehlo.divide"(%87, %262) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %266 = "stablehlo.exponential"(%263) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %267 = "stablehlo.divide"(%87, %264) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %268 = "stablehlo.multiply"(%266, %267) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %269 = "stablehlo.compare"(%264, %86) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xi1>
    %270 = "stablehlo.multiply"(%85, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %271 = "stablehlo.add"(%270, %84) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %272 = "stablehlo.multiply"(%271, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %273 = "stablehlo.add"(%272, %83) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %274 = "stablehlo.multiply"(%273, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %275 = "stablehlo.add"(%274, %82) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %276 = "stablehlo.multiply"(%275, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %277 = "stablehlo.add"(%276, %81) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %278 = "stablehlo.multiply"(%277, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %279 = "stablehlo.add"(%278, %80) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %280 = "stablehlo.multiply"(%279, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %281 = "stablehlo.add"(%280, %79) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %282 = "stablehlo.multiply"(%281, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %283 = "stablehlo.add"(%282, %78) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %284 = "stablehlo.multiply"(%283, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %285 = "stablehlo.add"(%284, %77) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %286 = "stablehlo.multiply"(%76, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %287 = "stablehlo.add"(%286, %75) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %288 = "stablehlo.multiply"(%287, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %289 = "stablehlo.add"(%288, %74) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %290 = "stablehlo.multiply"(%289, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %291 = "stablehlo.add"(%290, %73) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %292 = "stablehlo.multiply"(%291, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %293 = "stablehlo.add"(%292, %72) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %294 = "stablehlo.multiply"(%293, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %295 = "stablehlo.add"(%294, %71) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %296 = "stablehlo.multiply"(%295, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %297 = "stablehlo.add"(%296, %70) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %298 = "stablehlo.multiply"(%297, %265) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %299 = "stablehlo.add"(%298, %69) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %300 = "stablehlo.select"(%269, %285, %299) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %301 = "stablehlo.multiply"(%268, %300) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %302 = "stablehlo.compare"(%263, %68) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xi1>
    %303 = "stablehlo.select"(%302, %67, %301) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %304 = "stablehlo.compare"(%261, %67) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xi1>
    %305 = "stablehlo.subtract"(%86, %303) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %306 = "stablehlo.select"(%304, %305, %303) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %307 = "stablehlo.multiply"(%261, %261) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %308 = "stablehlo.multiply"(%66, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %309 = "stablehlo.add"(%308, %65) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %310 = "stablehlo.multiply"(%309, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %311 = "stablehlo.add"(%310, %64) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %312 = "stablehlo.multiply"(%311, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %313 = "stablehlo.add"(%312, %63) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %314 = "stablehlo.multiply"(%313, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %315 = "stablehlo.add"(%314, %62) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %316 = "stablehlo.multiply"(%315, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %317 = "stablehlo.add"(%316, %61) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %318 = "stablehlo.multiply"(%317, %307) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %319 = "stablehlo.add"(%318, %60) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %320 = "stablehlo.multiply"(%261, %319) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %321 = "stablehlo.subtract"(%87, %320) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %322 = "stablehlo.abs"(%261) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %323 = "stablehlo.compare"(%322, %87) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xi1>
    %324 = "stablehlo.select"(%323, %321, %306) : (tensor<2x24x48xi1>, tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %325 = "stablehlo.multiply"(%258, %324) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %326 = "stablehlo.add"(%255, %325) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %327 = "stablehlo.dot_general"(%326, %arg23) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x48xf32>) -> tensor<2x24x48xf32>
    %328 = "stablehlo.multiply"(%327, %327) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %329 = "stablehlo.multiply"(%328, %327) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %330 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %331 = "stablehlo.multiply"(%330, %329) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %332 = "stablehlo.add"(%327, %331) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %333 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %334 = "stablehlo.multiply"(%333, %332) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %335 = "stablehlo.tanh"(%334) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %336 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %337 = "stablehlo.add"(%336, %335) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %338 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32>
    %339 = "stablehlo.multiply"(%338, %337) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %340 = "stablehlo.multiply"(%327, %339) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %341 = "stablehlo.add"(%326, %340) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %342 = "stablehlo.reduce"(%341, %94) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg32: tensor<f32>, %arg33: tensor<f32>):
      %364 = "stablehlo.maximum"(%arg32, %arg33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%364) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %343 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24xf32>
    %344 = "stablehlo.maximum"(%343, %342) : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    %345 = "stablehlo.broadcast_in_dim"(%344) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %346 = "stablehlo.broadcast_in_dim"(%345) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %347 = "stablehlo.subtract"(%341, %346) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %348 = "stablehlo.exponential"(%347) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %349 = "stablehlo.reduce"(%348, %102) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %363 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%363) : (tensor<f32>) -> ()
    }) : (tensor<2x24x48xf32>, tensor<f32>) -> tensor<2x24xf32>
    %350 = "stablehlo.broadcast_in_dim"(%349) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32>
    %351 = "stablehlo.broadcast_in_dim"(%350) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
    %352 = "stablehlo.divide"(%348, %351) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %353 = "stablehlo.multiply"(%341, %352) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32>
    %354 = "stablehlo.transpose"(%arg14) <{permutation = array<i64: 1, 0>}> : (tensor<67x48xf32>) -> tensor<48x67xf32>
    %355 = "stablehlo.dot_general"(%353, %354) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x24x48xf32>, tensor<48x67xf32>) -> tensor<2x24x67xf32>
    %356 = "func.call"(%355) <{callee = @log_softmax}> : (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>
    %357 = "stablehlo.broadcast_in_dim"(%arg27) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xi32>) -> tensor<2x24x1xi32>
    %358 = "func.call"(%356, %357) <{callee = @take_along_axis}> : (tensor<2x24x67xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>
    %359 = "stablehlo.reduce"(%358, %102) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %362 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%362) : (tensor<f32>) -> ()
    }) : (tensor<2x24x1xf32>, tensor<f32>) -> tensor<f32>
    %360 = "stablehlo.divide"(%359, %101) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %361 = "stablehlo.negate"(%360) : (tensor<f32>) -> tensor<f32>
    "func.return"(%361) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<24x24xi1>) -> tensor<24x24xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<24x24xi1>):
    %51 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %52 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %53 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %54 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<24x24xi32> loc("add")
    %55 = "stablehlo.add"(%53, %54) : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32> loc("add")
    %56 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<24x24xi32> loc("iota")
    %57 = "stablehlo.compare"(%55, %56) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1> loc("ge")
    %58 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<24x24xi1> loc("broadcast_in_dim")
    %59 = "stablehlo.select"(%57, %arg13, %58) : (tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) -> tensor<24x24xi1> loc("select_n")
    "func.return"(%59) : (tensor<24x24xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg10: tensor<2x2x24x24xi1>, %arg11: tensor<2x2x24x2x24xf32>, %arg12: tensor<f32>):
    %46 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x24x24xf32> loc("broadcast_in_dim")
    %47 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xi1>) -> tensor<2x2x2x24x24xi1> loc("broadcast_in_dim")
    %48 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32> loc("broadcast_in_dim")
    %49 = "stablehlo.transpose"(%arg11) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x2x24x2x24xf32>) -> tensor<2x2x2x24x24xf32> loc("transpose")
    %50 = "stablehlo.select"(%47, %49, %48) : (tensor<2x2x2x24x24xi1>, tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) -> tensor<2x2x2x24x24xf32> loc("select_n")
    "func.return"(%50) : (tensor<2x2x2x24x24xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x48xf32>) -> tensor<2x24x48xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<2x24x48xf32>):
    %38 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %39 = "stablehlo.negate"(%arg9) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("neg")
    %40 = "stablehlo.exponential"(%39) : (tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("exp")
    %41 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32> loc("add")
    %42 = "stablehlo.add"(%41, %40) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("add")
    %43 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x48xf32> loc("div")
    %44 = "stablehlo.divide"(%43, %42) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("div")
    %45 = "stablehlo.multiply"(%arg9, %44) : (tensor<2x24x48xf32>, tensor<2x24x48xf32>) -> tensor<2x24x48xf32> loc("mul")
    "func.return"(%45) : (tensor<2x24x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x24x67xf32>) -> tensor<2x24x67xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<2x24x67xf32>):
    %22 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc("reduce_sum")
    %23 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.reduce"(%arg4, %23) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %37 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("reduce_max")
      "stablehlo.return"(%37) : (tensor<f32>) -> () loc("reduce_max")
    }) : (tensor<2x24x67xf32>, tensor<f32>) -> tensor<2x24xf32> loc("reduce_max")
    %25 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24xf32> loc("max")
    %26 = "stablehlo.maximum"(%25, %24) : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32> loc("max")
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x67xf32> loc("sub")
    %29 = "stablehlo.subtract"(%arg4, %28) : (tensor<2x24x67xf32>, tensor<2x24x67xf32>) -> tensor<2x24x67xf32> loc("sub")
    %30 = "stablehlo.exponential"(%29) : (tensor<2x24x67xf32>) -> tensor<2x24x67xf32> loc("exp")
    %31 = "stablehlo.reduce"(%30, %22) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %36 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("reduce_sum")
      "stablehlo.return"(%36) : (tensor<f32>) -> () loc("reduce_sum")
    }) : (tensor<2x24x67xf32>, tensor<f32>) -> tensor<2x24xf32> loc("reduce_sum")
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x24xf32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %33 = "stablehlo.log"(%32) : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32> loc("log")
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x24x1xf32>) -> tensor<2x24x67xf32> loc("sub")
    %35 = "stablehlo.subtract"(%29, %34) : (tensor<2x24x67xf32>, tensor<2x24x67xf32>) -> tensor<2x24x67xf32> loc("sub")
    "func.return"(%35) : (tensor<2x24x67xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2x24x67xf32>, tensor<2x24x1xi32>) -> tensor<2x24x1xf32>, res_attrs = [{}], sym_name = "take_along_axis", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x24x67xf32>, %arg1: tensor<2x24x1xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32> loc("gather")
    %1 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1> loc("reduce_and")
    %2 = "stablehlo.constant"() <{value = dense<66> : tensor<1xi32>}> : () -> tensor<1xi32> loc("gather")
    %3 = "stablehlo.constant"() <{value = dense<67> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32> loc("lt")
    %6 = "stablehlo.compare"(%arg1, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi1> loc("lt")
    %7 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1xi32> loc("add")
    %8 = "stablehlo.add"(%arg1, %7) : (tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32> loc("add")
    %9 = "stablehlo.select"(%6, %8, %arg1) : (tensor<2x24x1xi1>, tensor<2x24x1xi32>, tensor<2x24x1xi32>) -> tensor<2x24x1xi32> loc("select_n")
    %10 = "stablehlo.reshape"(%9) : (tensor<2x24x1xi32>) -> tensor<2x24x1x1xi32> loc("reshape")
    %11 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x24x1x1xi32> loc("ge")
    %12 = "stablehlo.compare"(%10, %11) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1> loc("ge")
    %13 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 3>}> : (tensor<1xi32>) -> tensor<1x1x1x1xi32> loc("broadcast_in_dim")
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x1xi32>) -> tensor<2x24x1x1xi32> loc("le")
    %15 = "stablehlo.compare"(%10, %14) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<2x24x1x1xi32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1x1xi1> loc("le")
    %16 = "stablehlo.and"(%12, %15) : (tensor<2x24x1x1xi1>, tensor<2x24x1x1xi1>) -> tensor<2x24x1x1xi1> loc("and")
    %17 = "stablehlo.reduce"(%16, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %21 = "stablehlo.and"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1> loc("reduce_and")
      "stablehlo.return"(%21) : (tensor<i1>) -> () loc("reduce_and")
    }) : (tensor<2x24x1x1xi1>, tensor<i1>) -> tensor<2x24x1xi1> loc("reduce_and")
    %18 = "stablehlo.gather"(%arg0, %10) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x24x67xf32>, tensor<2x24x1x1xi32>) -> tensor<2x24x1xf32> loc("gather")
    %19 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x24x1xf32> loc("broadcast_in_dim")
    %20 = "stablehlo.select"(%17, %18, %19) : (tensor<2x24x1xi1>, tensor<2x24x1xf32>, tensor<2x24x1xf32>) -> tensor<2x24x1xf32> loc("select_n")
    "func.return"(%20) : (tensor<2x24x1xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
