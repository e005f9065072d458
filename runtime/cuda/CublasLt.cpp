//===- CublasLt.cpp - Matrix products by cuBLASLt -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Matmul.h. cuBLASLt's matrices are column-major; a row-major matrix is its
// transpose read in columns. So a row-major C = op(A) op(B) is asked for as
// C^T = op(B)^T op(A)^T, with the operands swapped, and nothing is moved.
//
//===----------------------------------------------------------------------===//

#include "CublasLtApi.h"
#include "Matmul.h"
#include "TuneFile.h"

#include <algorithm>
#include <map>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// What cuBLASLt needs to know of a product.
struct Plan {
  lt::Desc desc = nullptr;
  /// Of cuBLASLt's A (our B), B (our A) and C.
  lt::Layout a = nullptr, b = nullptr, c = nullptr;
  lt::Algo algo = {};
  int64_t workspaceBytes = 0;
};

class CublasLt final : public Matmul {
public:
  CublasLt(Device &device, Stream stream, const TuneOptions &options)
      : device(device), tuneStream(stream), options(options) {}
  ~CublasLt() override;

  std::string open();
  std::string name() const override {
    return "cublaslt " + api.library.version;
  }
  bool supports(int32_t dtype, int32_t cDtype) const override;
  std::string prepare(const std::vector<MatmulCall> &calls) override;
  std::string run(Stream stream, const MatmulCall &call) override;

private:
  std::string check(const MatmulCall &call, const char *what, int status) const;
  std::string makePlan(const MatmulCall &call, Plan &plan);
  std::string setFusion(const MatmulCall &call, Plan &plan);
  std::string setPointers(const MatmulCall &call, const Plan &plan);
  void destroyPlan(Plan &plan);
  std::string findCandidates(const MatmulCall &call, const Plan &plan,
                             std::vector<lt::Heuristic> &candidates);
  std::string enqueue(Stream stream, const MatmulCall &call, const Plan &plan);
  std::string workspaceOf(Stream stream, void *&memory);

  /// Seconds of one product by a plan.
  std::string time(const MatmulCall &call, const Plan &plan, double &seconds);
  std::string choose(const MatmulCall &call, Plan &plan, TuneEntry &entry);
  std::string tune(const std::vector<MatmulCall> &calls);
  bool takeFromFile(const MatmulCall &call, Plan &plan);

  Device &device;
  Stream tuneStream;
  TuneOptions options;
  lt::Api api = {};
  lt::Handle handle = nullptr;
  std::map<std::vector<int64_t>, Plan> plans;
  /// By stream.
  std::vector<std::pair<void *, void *>> workspaces;
  TuneFile file;
  double deadline = 0;
};
} // namespace

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
  default:
    return lt::R32F;
  }
}

bool CublasLt::supports(int32_t dtype, int32_t cDtype) const {
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

void CublasLt::destroyPlan(Plan &plan) {
  if (plan.desc)
    api.descDestroy(plan.desc);
  for (lt::Layout layout : {plan.a, plan.b, plan.c})
    if (layout)
      api.layoutDestroy(layout);
  plan = Plan();
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

/// cuBLASLt's name for what is done with the result.
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
  default:
    return lt::EpilogueDefault;
  }
}

std::string CublasLt::setFusion(const MatmulCall &call, Plan &plan) {
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

std::string CublasLt::setPointers(const MatmulCall &call, const Plan &plan) {
  int status = lt::Success;
  if (call.bias)
    status =
        api.descSet(plan.desc, lt::DescBiasPointer, &call.bias, sizeof(void *));
  if (call.aux && status == lt::Success)
    status =
        api.descSet(plan.desc, lt::DescAuxPointer, &call.aux, sizeof(void *));
  return check(call, "epilogue", status);
}

std::string CublasLt::makePlan(const MatmulCall &call, Plan &plan) {
  const tessera_rt_matmul_desc &d = call.desc;
  bool isDouble = d.dtype == TESSERA_RT_F64;
  int compute = isDouble                                    ? lt::Compute64F
                : d.dtype == TESSERA_RT_F32 && options.tf32 ? lt::Compute32FTf32
                                                            : lt::Compute32F;
  int status =
      api.descCreate(&plan.desc, compute, isDouble ? lt::R64F : lt::R32F);
  if (status != lt::Success)
    return check(call, "descriptor", status);
  // Ours swapped: rows and columns as cuBLASLt counts them.
  int transA = d.trans_b ? lt::OpT : lt::OpN;
  int transB = d.trans_a ? lt::OpT : lt::OpN;
  struct {
    lt::Layout *layout;
    int type;
    int64_t rows, columns, ld, stride;
  } matrices[] = {
      {&plan.a, dataType(d.dtype), d.trans_b ? d.k : d.n, d.trans_b ? d.n : d.k,
       d.ldb, d.stride_b},
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
  return error.empty() ? setFusion(call, plan) : error;
}

std::string CublasLt::findCandidates(const MatmulCall &call, const Plan &plan,
                                     std::vector<lt::Heuristic> &candidates) {
  lt::Preference preference = nullptr;
  int status = api.preferenceCreate(&preference);
  if (status != lt::Success)
    return check(call, "preference", status);
  uint64_t bytes = uint64_t(matmulWorkspaceBytes);
  status = api.preferenceSet(preference, lt::PreferenceWorkspaceBytes, &bytes,
                             sizeof(bytes));
  // The key ends in the alignments of our A, B and C.
  std::vector<int64_t> key = call.key();
  size_t end = key.size();
  const std::pair<int, int64_t> alignments[] = {
      {lt::PreferenceAlignmentA, key[end - 2]},
      {lt::PreferenceAlignmentB, key[end - 3]},
      {lt::PreferenceAlignmentC, key[end - 1]},
      {lt::PreferenceAlignmentD, key[end - 1]}};
  for (const auto &alignment : alignments) {
    uint32_t value = uint32_t(alignment.second);
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

std::string CublasLt::enqueue(Stream stream, const MatmulCall &call,
                              const Plan &plan) {
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
  return check(call, "product",
               api.matmul(handle, plan.desc, alphaAddress, call.b, plan.a,
                          call.a, plan.b, betaAddress, call.c, plan.c, call.c,
                          plan.c, &plan.algo, workspace,
                          size_t(plan.workspaceBytes), stream.handle));
}

std::string CublasLt::run(Stream stream, const MatmulCall &call) {
  auto found = plans.find(call.key());
  if (found == plans.end())
    return "a product that was not seen before the first step: " +
           call.describe();
  return enqueue(stream, call, found->second);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

std::string CublasLt::time(const MatmulCall &call, const Plan &plan,
                           double &seconds) {
  constexpr int repeats = 4;
  Event from, to;
  std::string error = device.createEvent(/*timed=*/true, from);
  if (error.empty())
    error = device.createEvent(/*timed=*/true, to);
  // The first run loads the kernel.
  if (error.empty())
    error = enqueue(tuneStream, call, plan);
  seconds = 0;
  for (int i = 0; i < repeats && error.empty(); ++i) {
    double once = 0;
    error = device.record(from, tuneStream);
    if (error.empty())
      error = enqueue(tuneStream, call, plan);
    if (error.empty())
      error = device.record(to, tuneStream);
    if (error.empty())
      error = device.synchronize(tuneStream);
    if (error.empty())
      error = device.elapsed(from, to, once);
    seconds = i == 0 ? once : std::min(seconds, once);
  }
  device.destroy(from);
  device.destroy(to);
  return error;
}

std::string CublasLt::choose(const MatmulCall &call, Plan &plan,
                             TuneEntry &entry) {
  std::vector<lt::Heuristic> candidates;
  std::string error = findCandidates(call, plan, candidates);
  if (!error.empty())
    return error;
  auto take = [&](const lt::Heuristic &candidate) {
    plan.algo = candidate.algo;
    plan.workspaceBytes = int64_t(candidate.workspaceSize);
  };
  take(candidates.front());
  entry = {plan.algo, plan.workspaceBytes, 0, call.describe()};
  bool isTimed = options.mode != TuneOptions::Off && options.isFirst;
  bool hasTime = false;
  for (size_t i = 0; i < candidates.size() && isTimed; ++i) {
    if (i > 0 && monotonicSeconds() > deadline)
      break;
    take(candidates[i]);
    double seconds = 0;
    error = time(call, plan, seconds);
    // One that cannot run after all is left out.
    if (!error.empty() || (hasTime && seconds >= entry.seconds))
      continue;
    hasTime = true;
    entry = {plan.algo, plan.workspaceBytes, seconds, call.describe()};
  }
  if (isTimed && !hasTime)
    return error;
  plan.algo = entry.algo;
  plan.workspaceBytes = entry.workspaceBytes;
  return std::string();
}

bool CublasLt::takeFromFile(const MatmulCall &call, Plan &plan) {
  auto found = file.entries.find(call.key());
  if (found == file.entries.end())
    return false;
  lt::Heuristic result = {};
  int status = api.check(handle, plan.desc, plan.a, plan.b, plan.c, plan.c,
                         &found->second.algo, &result);
  if (status != lt::Success || result.state != lt::Success ||
      result.workspaceSize > size_t(matmulWorkspaceBytes))
    return false;
  plan.algo = found->second.algo;
  plan.workspaceBytes = int64_t(result.workspaceSize);
  return true;
}

/// Times what is not in the file and writes it.
std::string CublasLt::tune(const std::vector<MatmulCall> &calls) {
  double begin = monotonicSeconds();
  deadline = begin + options.seconds;
  size_t timed = 0;
  for (const MatmulCall &call : calls) {
    Plan &plan = plans[call.key()];
    if (options.mode != TuneOptions::On && takeFromFile(call, plan))
      continue;
    TuneEntry entry;
    std::string error = choose(call, plan, entry);
    if (!error.empty())
      return error;
    file.entries[call.key()] = entry;
    ++timed;
  }
  if (timed == 0)
    return std::string();
  std::string refused =
      options.path.empty() ? "there is no place" : file.write(options.path);
  options.remark(format("%zu matrix products timed in %.1f s", timed,
                        monotonicSeconds() - begin) +
                 (refused.empty() ? ", kept in '" + options.path + "'"
                                  : "; they cannot be kept in '" +
                                        options.path + "': " + refused));
  // All ranks compute alike: what the others cannot read is not used.
  if (refused.empty() || !options.meet)
    return std::string();
  options.mode = TuneOptions::Off;
  std::string error;
  for (const MatmulCall &call : calls) {
    TuneEntry entry;
    if (error.empty())
      error = choose(call, plans[call.key()], entry);
  }
  return error;
}

std::string CublasLt::prepare(const std::vector<MatmulCall> &calls) {
  std::vector<MatmulCall> distinct;
  for (const MatmulCall &call : calls) {
    auto inserted = plans.emplace(call.key(), Plan());
    if (!inserted.second)
      continue;
    std::string error = makePlan(call, inserted.first->second);
    if (!error.empty())
      return error;
    distinct.push_back(call);
  }
  const DeviceProperties &facts = device.properties();
  TuneSubject subject{api.library.versionNumber, facts.name,
                      facts.multiprocessors, options.tf32};
  auto readFile = [&] {
    std::string refused =
        options.path.empty() ? tuneFileAbsent : file.read(options.path);
    if (refused.empty() && !(file.subject == subject))
      refused = "it is for " + file.subject.describe() + ", but this is " +
                subject.describe();
    if (!refused.empty())
      file = {subject, {}};
    return refused;
  };
  file.subject = subject;
  std::string refused;
  if (options.mode == TuneOptions::Cache)
    refused = readFile();
  if (!refused.empty() && refused != tuneFileAbsent && options.isFirst)
    options.remark("the tune file '" + options.path +
                   "' is not used: " + refused);
  void *workspace = nullptr;
  std::string error = workspaceOf(tuneStream, workspace);
  bool tunes = options.isFirst && options.mode != TuneOptions::Off;
  if (error.empty() && tunes)
    error = tune(distinct);
  if (options.meet) {
    std::string lost = options.meet();
    error = error.empty() ? lost : error;
  }
  if (!error.empty() || tunes)
    return error;
  // The choices of the first rank, or the library's own.
  if (options.mode != TuneOptions::Off)
    readFile();
  for (const MatmulCall &call : distinct) {
    Plan &plan = plans[call.key()];
    TuneEntry entry;
    if (options.mode != TuneOptions::Off && takeFromFile(call, plan))
      continue;
    error = choose(call, plan, entry);
    if (!error.empty())
      return error;
  }
  return std::string();
}

std::unique_ptr<Matmul>
tessera::rt::cuda::createCublasLt(Device &device, Stream stream,
                                  const TuneOptions &options,
                                  std::string &error) {
  auto matmul = std::make_unique<CublasLt>(device, stream, options);
  error = matmul->open();
  if (!error.empty())
    return nullptr;
  return matmul;
}
