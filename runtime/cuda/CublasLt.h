//===- CublasLt.h - Matmuls by cuBLASLt -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls by cuBLASLt: the description of each matmul, and the choice of the
// fastest algorithm. See Matmul.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_CUBLASLT_H
#define TESSERA_RT_CUDA_CUBLASLT_H

#include "CublasLtApi.h"
#include "Matmul.h"
#include "TuneFile.h"

#include <map>

namespace tessera::rt::cuda {

/// Description of a matmul for cuBLASLt.
struct MatmulPlan {
  MatmulSplit split = MatmulSplit::Whole;
  lt::Desc desc = nullptr;
  /// Layouts of cuBLASLt's A (our B), B (our A) and C.
  lt::Layout a = nullptr, b = nullptr, c = nullptr;
  lt::Algo algo = {};
  int64_t workspaceBytes = 0;
};

class CublasLt final : public Matmul {
public:
  CublasLt(Device &device, Kernels &kernels, Stream stream,
           const TuneOptions &options)
      : device(device), kernels(kernels), tuneStream(stream), options(options) {
  }
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
  /// Describes the part of a call that `plan.split` gives to cuBLASLt.
  std::string makePlan(const MatmulCall &call, MatmulPlan &plan);
  std::string setFusion(const MatmulCall &call, MatmulPlan &plan);
  std::string setPointers(const MatmulCall &call, const MatmulPlan &plan);
  void destroyPlan(MatmulPlan &plan);
  std::string findCandidates(const MatmulCall &call, const MatmulPlan &plan,
                             std::vector<lt::Heuristic> &candidates);
  std::string enqueue(Stream stream, const MatmulCall &call,
                      const MatmulPlan &plan);
  std::string workspaceOf(Stream stream, void *&memory);

  /// Times one matmul of a plan, in seconds.
  std::string time(const MatmulCall &call, const MatmulPlan &plan,
                   double &seconds);
  /// Chooses the fastest of the algorithms for `plan.split` and writes its time
  /// to `entry`, or the first one if nothing is timed.
  std::string chooseAlgo(const MatmulCall &call, MatmulPlan &plan,
                         TuneEntry &entry);
  /// Runs a call once, because a library may refuse it only then.
  std::string tryOnce(const MatmulCall &call, const MatmulPlan &plan);
  /// Chooses the best split and its algorithm.
  std::string choose(const MatmulCall &call, MatmulPlan &plan,
                     TuneEntry &entry);
  std::string tune(const std::vector<MatmulCall> &calls);
  std::string takeChoices(const std::vector<MatmulCall> &calls);
  std::string warmUp(const std::vector<MatmulCall> &calls);
  std::string checkFile(std::string refused);
  std::string shareFile();
  bool takeFromFile(const MatmulCall &call, MatmulPlan &plan);

  Device &device;
  Kernels &kernels;
  Stream tuneStream;
  TuneOptions options;
  lt::Api api = {};
  lt::Handle handle = nullptr;
  std::map<std::vector<int64_t>, MatmulPlan> plans;
  /// Working memory by stream.
  std::vector<std::pair<void *, void *>> workspaces;
  TuneSubject subject;
  TuneFile file;
  double deadline = 0;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_CUBLASLT_H
