//===- Work.cpp - A program's work on one device ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and sums of the records of work.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Work.h"

using namespace tessera::cost;

const char *tessera::cost::stringify(DType type) {
  switch (type) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::FP8:
    return "fp8";
  case DType::MXFP8:
    return "mxfp8";
  case DType::FP4:
    return "fp4";
  case DType::I32:
    return "i32";
  case DType::I8:
    return "i8";
  }
  return "";
}

double tessera::cost::byteWidth(DType type) {
  switch (type) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::FP8:
  case DType::MXFP8:
  case DType::I8:
    return 1;
  case DType::FP4:
    return 0.5;
  }
  return 0;
}

const char *tessera::cost::stringify(Pass pass) {
  switch (pass) {
  case Pass::Forward:
    return "forward";
  case Pass::Recompute:
    return "recompute";
  case Pass::BackwardInput:
    return "backward";
  case Pass::BackwardWeight:
    return "weight_gradient";
  case Pass::Optimizer:
    return "optimizer";
  }
  return "";
}

const char *tessera::cost::stringify(OpClass kind) {
  switch (kind) {
  case OpClass::Matmul:
    return "matmul";
  case OpClass::Attention:
    return "attention";
  case OpClass::Elementwise:
    return "elementwise";
  case OpClass::RowReduction:
    return "row_reduction";
  case OpClass::Embedding:
    return "embedding";
  case OpClass::Optimizer:
    return "optimizer";
  }
  return "";
}

static constexpr std::pair<PlanAxis, const char *> kPlanAxes[] = {
    {PlanAxis::PP, "pp"},
    {PlanAxis::DP, "dp"},
    {PlanAxis::CP, "cp"},
    {PlanAxis::TP, "tp"},
    {PlanAxis::EP, "ep"},
    {PlanAxis::EDP, "edp"},
    {PlanAxis::CPHeads, "cp_heads"},
    {PlanAxis::CPQueries, "cp_queries"},
    {PlanAxis::Shard, "shard"}};

const char *tessera::cost::stringify(PlanAxis axis) {
  for (auto [known, name] : kPlanAxes)
    if (known == axis)
      return name;
  return "";
}

std::string tessera::cost::stringify(llvm::ArrayRef<PlanAxis> axes) {
  std::string text;
  for (PlanAxis axis : axes)
    text += (text.empty() ? "" : "+") + std::string(stringify(axis));
  return text;
}

std::optional<PlanAxis> tessera::cost::parsePlanAxis(llvm::StringRef name) {
  for (auto [axis, known] : kPlanAxes)
    if (name == known)
      return axis;
  return std::nullopt;
}

void LayerWork::add(OpWork op) {
  items.push_back({WorkItem::Kind::Op, ops.size()});
  ops.push_back(std::move(op));
}

void LayerWork::add(CommWork comm) {
  items.push_back({WorkItem::Kind::Comm, comms.size()});
  comms.push_back(std::move(comm));
}

double LayerWork::savedBytes() const {
  double sum = 0;
  for (const SavedTensor &tensor : saved)
    sum += tensor.bytes;
  return sum;
}

double LayerWork::adapterElements() const {
  double sum = 0;
  for (const AdapterWork &adapter : adapters)
    sum += adapter.elements;
  return sum;
}

double LayerWork::parameterElements() const {
  double sum = 0;
  for (const ParameterWork &parameter : parameters)
    sum += parameter.elements;
  return sum;
}

double LayerWork::flops(Pass pass) const {
  double sum = 0;
  for (const OpWork &op : ops)
    if (op.pass == pass)
      sum += op.flops;
  return sum;
}

int64_t ModelWork::numLayers() const {
  int64_t sum = 0;
  for (const Run &run : layers)
    sum += int64_t(run.count);
  return sum;
}
