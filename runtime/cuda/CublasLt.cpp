//===- CublasLt.cpp - Matmuls by cuBLASLt ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Matmul.h. cuBLASLt's matrices are column-major, and a row-major matrix
// equals its column-major transpose. So a row-major C = op(A) op(B) is computed
// as C^T = op(B)^T op(A)^T, with the operands swapped and no data moved.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static int dataType(int64_t dtype) {
  switch (dtype) {
  case TESSERA_RT_BF16:
    return lt::R16BF;
  case TESSERA_RT_F16:
    return lt::R16F;
  case TESSERA_RT_F64:
    return lt::R64F;
  case TESSERA_RT_F8E4M3:
    return lt::R8FE4M3;
  case TESSERA_RT_F8E5M2:
    return lt::R8FE5M2;
  default:
    return lt::R32F;
  }
}

bool CublasLt::supports(int32_t dtype, int32_t cDtype) const {
  if (isF8(dtype))
    return cDtype == TESSERA_RT_BF16 || cDtype == TESSERA_RT_F32;
  if (dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F16)
    return cDtype == dtype || cDtype == TESSERA_RT_F32;
  return dtype == cDtype &&
         (dtype == TESSERA_RT_F32 || dtype == TESSERA_RT_F64);
}

std::string CublasLt::open() {
  api.library = findLibrary(LibraryKind::CublasLt);
  if (api.library.error.empty())
    api.bind();
  if (!api.library.error.empty())
    return api.library.error;
  if (int status = api.create(&handle))
    return format("cuBLASLt %s cannot be used: %s", api.library.version.c_str(),
                  api.statusName(status));
  return std::string();
}

void CublasLt::destroyPlan(MatmulPlan &plan) {
  if (plan.desc)
    api.descDestroy(plan.desc);
  for (lt::Layout layout : {plan.a, plan.b, plan.c})
    if (layout)
      api.layoutDestroy(layout);
  plan = MatmulPlan();
}

CublasLt::~CublasLt() {
  for (auto &plan : plans)
    destroyPlan(plan.second);
  for (auto &workspace : workspaces)
    device.release(workspace.second);
  if (handle)
    api.destroy(handle);
}

std::string CublasLt::check(const MatmulCall &call, const char *what,
                            int status) const {
  if (status == lt::Success)
    return std::string();
  return format("cuBLASLt %s, %s: %s for ", api.library.version.c_str(), what,
                api.statusName(status)) +
         call.describe();
}

/// cuBLASLt's name for the operations on the result.
static int epilogueOf(const MatmulCall &call) {
  switch (call.fusion.kind) {
  case TESSERA_RT_FUSE_BIAS:
    return lt::EpilogueBias;
  case TESSERA_RT_FUSE_GELU:
    if (call.aux)
      return call.bias ? lt::EpilogueGeluAuxBias : lt::EpilogueGeluAux;
    return call.bias ? lt::EpilogueGeluBias : lt::EpilogueGelu;
  case TESSERA_RT_FUSE_GELU_GRADIENT:
    return call.bias ? lt::EpilogueDGeluBiasGradient : lt::EpilogueDGelu;
  // A and B are swapped.
  case TESSERA_RT_FUSE_LHS_SUMS:
    return lt::EpilogueBiasGradientB;
  case TESSERA_RT_FUSE_RHS_SUMS:
    return lt::EpilogueBiasGradientA;
  default:
    return lt::EpilogueDefault;
  }
}

std::string CublasLt::setFusion(const MatmulCall &call, MatmulPlan &plan) {
  int epilogue = epilogueOf(call);
  int status =
      api.descSet(plan.desc, lt::DescEpilogue, &epilogue, sizeof(epilogue));
  if (call.bias && status == lt::Success) {
    int type = dataType(call.fusion.bias_dtype);
    status = api.descSet(plan.desc, lt::DescBiasDataType, &type, sizeof(type));
  }
  if (call.aux && status == lt::Success)
    status = api.descSet(plan.desc, lt::DescAuxLd, &call.fusion.aux_ld,
                         sizeof(int64_t));
  return check(call, "epilogue", status);
}

std::string CublasLt::setPointers(const MatmulCall &call,
                                  const MatmulPlan &plan) {
  int status = lt::Success;
  // A and B are swapped.
  if (call.scaleA)
    status =
        api.descSet(plan.desc, lt::DescScaleA, &call.scaleB, sizeof(void *));
  if (call.scaleA && status == lt::Success)
    status =
        api.descSet(plan.desc, lt::DescScaleB, &call.scaleA, sizeof(void *));
  if (call.bias && status == lt::Success)
    status =
        api.descSet(plan.desc, lt::DescBiasPointer, &call.bias, sizeof(void *));
  if (call.aux && status == lt::Success)
    status =
        api.descSet(plan.desc, lt::DescAuxPointer, &call.aux, sizeof(void *));
  return check(call, "scales and epilogue", status);
}

std::string CublasLt::makePlan(const MatmulCall &whole, MatmulPlan &plan) {
  MatmulCall call = withoutRest(whole, plan.split);
  const tessera_rt_matmul_desc &d = call.desc;
  bool isDouble = d.dtype == TESSERA_RT_F64;
  int compute = isDouble                                    ? lt::Compute64F
                : d.dtype == TESSERA_RT_F32 && options.tf32 ? lt::Compute32FTf32
                                                            : lt::Compute32F;
  int status =
      api.descCreate(&plan.desc, compute, isDouble ? lt::R64F : lt::R32F);
  if (status != lt::Success)
    return check(call, "descriptor", status);
  // Swaps the operands: rows and columns in cuBLASLt's order.
  int transA = d.trans_b ? lt::OpT : lt::OpN;
  int transB = d.trans_a ? lt::OpT : lt::OpN;
  struct {
    lt::Layout *layout;
    int type;
    int64_t rows, columns, ld, stride;
  } matrices[] = {
      {&plan.a, dataType(call.scaleA ? call.dtypeB : d.dtype),
       d.trans_b ? d.k : d.n, d.trans_b ? d.n : d.k, d.ldb, d.stride_b},
      {&plan.b, dataType(d.dtype), d.trans_a ? d.m : d.k, d.trans_a ? d.k : d.m,
       d.lda, d.stride_a},
      {&plan.c, dataType(d.c_dtype), d.n, d.m, d.ldc, d.stride_c},
  };
  status = api.descSet(plan.desc, lt::DescTransA, &transA, sizeof(int));
  if (status == lt::Success)
    status = api.descSet(plan.desc, lt::DescTransB, &transB, sizeof(int));
  for (auto &matrix : matrices) {
    if (status == lt::Success)
      status =
          api.layoutCreate(matrix.layout, matrix.type, uint64_t(matrix.rows),
                           uint64_t(matrix.columns), matrix.ld);
    if (d.batch == 1 || status != lt::Success)
      continue;
    int32_t count = int32_t(d.batch);
    status = api.layoutSet(*matrix.layout, lt::LayoutBatchCount, &count,
                           sizeof(count));
    if (status == lt::Success)
      status = api.layoutSet(*matrix.layout, lt::LayoutBatchStride,
                             &matrix.stride, sizeof(int64_t));
  }
  std::string error = check(call, "layout", status);
  if (error.empty())
    error = setFusion(call, plan);
  return error.empty() ? setPointers(call, plan) : error;
}

std::string CublasLt::findCandidates(const MatmulCall &call,
                                     const MatmulPlan &plan,
                                     std::vector<lt::Heuristic> &candidates) {
  lt::Preference preference = nullptr;
  int status = api.preferenceCreate(&preference);
  if (status != lt::Success)
    return check(call, "preference", status);
  uint64_t bytes = uint64_t(matmulWorkspaceBytes);
  status = api.preferenceSet(preference, lt::PreferenceWorkspaceBytes, &bytes,
                             sizeof(bytes));
  const std::pair<int, const void *> operands[] = {
      {lt::PreferenceAlignmentA, call.b},
      {lt::PreferenceAlignmentB, call.a},
      {lt::PreferenceAlignmentC, call.addend ? call.addend : call.c},
      {lt::PreferenceAlignmentD, call.c}};
  for (const auto &alignment : operands) {
    uint32_t value = uint32_t(alignmentOf(alignment.second));
    if (status == lt::Success)
      status =
          api.preferenceSet(preference, alignment.first, &value, sizeof(value));
  }
  int found = 0;
  candidates.resize(size_t(std::max(options.candidates, 1)));
  if (status == lt::Success)
    status = api.heuristic(handle, plan.desc, plan.a, plan.b, plan.c, plan.c,
                           preference, int(candidates.size()),
                           candidates.data(), &found);
  api.preferenceDestroy(preference);
  candidates.resize(size_t(std::max(found, 0)));
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [](const lt::Heuristic &candidate) {
                                    return candidate.state != lt::Success ||
                                           candidate.workspaceSize >
                                               size_t(matmulWorkspaceBytes);
                                  }),
                   candidates.end());
  std::string error = check(call, "algorithms", status);
  if (error.empty() && candidates.empty())
    return "cuBLASLt " + api.library.version + " has no algorithm for " +
           call.describe();
  return error;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::string CublasLt::workspaceOf(Stream stream, void *&memory) {
  for (auto &workspace : workspaces)
    if (workspace.first == stream.handle) {
      memory = workspace.second;
      return std::string();
    }
  std::string error = device.allocate(matmulWorkspaceBytes, memory);
  if (error.empty())
    workspaces.emplace_back(stream.handle, memory);
  return error;
}

std::string CublasLt::enqueue(Stream stream, const MatmulCall &whole,
                              const MatmulPlan &plan) {
  MatmulCall call = withoutRest(whole, plan.split);
  std::string error = setPointers(call, plan);
  void *workspace = nullptr;
  if (error.empty())
    error = workspaceOf(stream, workspace);
  if (!error.empty())
    return error;
  float one = 1, beta = call.desc.accumulate ? 1 : 0;
  double wideOne = 1, wideBeta = beta;
  bool isDouble = call.desc.dtype == TESSERA_RT_F64;
  const void *alphaAddress = isDouble ? static_cast<void *>(&wideOne) : &one;
  const void *betaAddress = isDouble ? static_cast<void *>(&wideBeta) : &beta;
  error =
      check(call, "matmul",
            api.matmul(handle, plan.desc, alphaAddress, call.b, plan.a, call.a,
                       plan.b, betaAddress, call.addend ? call.addend : call.c,
                       plan.c, call.c, plan.c, &plan.algo, workspace,
                       size_t(plan.workspaceBytes), stream.handle));
  return error.empty() ? runRest(kernels, stream, whole, plan.split, workspace)
                       : error;
}

std::string CublasLt::run(Stream stream, const MatmulCall &call) {
  auto found = plans.find(call.key());
  if (found == plans.end())
    return "a matmul that was not seen before the first step: " +
           call.describe();
  return enqueue(stream, call, found->second);
}

std::unique_ptr<Matmul>
tessera::rt::cuda::createCublasLt(Device &device, Kernels &kernels,
                                  Stream stream, const TuneOptions &options,
                                  std::string &error) {
  auto matmul = std::make_unique<CublasLt>(device, kernels, stream, options);
  error = matmul->open();
  if (!error.empty())
    return nullptr;
  return matmul;
}
