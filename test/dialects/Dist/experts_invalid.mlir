// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{dist.experts: expects #dist.axes for experts but got "dp"}}
module attributes {dist.experts = "dp"} {}
// -----
// expected-error @+1 {{dist.experts: expects #dist.axes for seq but got}}
module attributes {dist.experts = {experts = #dist.axes<{"x"}>, batch = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
// -----
// expected-error @+1 {{dist.experts: expects an axis for experts at least but got}}
module attributes {dist.experts = {experts = #dist.axes<{}>, batch = #dist.axes<{}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
// -----
// expected-error @+1 {{dist.experts: expects each axis once but got}}
module attributes {dist.experts = {experts = #dist.axes<{"x"}>, batch = #dist.axes<{"x"}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
