//===- CudnnAttention.cpp - Attention by cuDNN ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN's fused attention through its header-only frontend. Only this file uses
// the frontend. cuDNN is loaded when a program needs it. The frontend throws if
// a symbol is missing; no exception leaves this file.
//
// cuDNN stores the logsumexp as [B, heads, S], the C ABI as [B, S, heads], so
// it is transposed through the working memory. f32 results also pass through
// it, because cuDNN computes them in bf16. (If asked for f32, 9.14 still writes
// bf16 in the forward; in the backward it has no plan, or one that fails when
// it runs.)
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Libraries.h"
#include "kernels/Launch.h"

#include "support/Support.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <unordered_map>
#include <vector>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <cudnn_frontend.h>
#pragma GCC diagnostic pop

using namespace tessera::rt;
using namespace tessera::rt::cuda;
namespace fe = cudnn_frontend;

/// The library in which the frontend looks symbols up.
void *cudnn_frontend::cudnn_dlhandle = nullptr;

namespace {
/// Numbers of the tensors of a graph.
enum TensorNumber : int64_t { Q = 1, K, V, Out, Stats, Grad, DQ, DK, DV };

/// A call as cuDNN needs it.
struct Problem {
  tessera_rt_attention_desc desc;
  int64_t qOffset, kOffset;

  int64_t heads() const { return desc.groups * desc.per_group; }
  /// Number of keys up to the last one that is not padding and that, under a
  /// causal mask, the last query sees. For a part of the queries the mask then
  /// ends where the keys do.
  int64_t keys() const {
    int64_t keys = desc.kv_len;
    if (desc.key_size > 0)
      keys = std::min(keys, desc.key_size - kOffset);
    if (desc.causal)
      keys = std::min(keys, qOffset - kOffset + desc.q_len);
    return keys;
  }
  float scale() const {
    double value;
    memcpy(&value, &desc.scale_bits, sizeof(value));
    return float(value);
  }
  /// True if the last query sees exactly the last key, for any lengths.
  bool isBottomRight() const {
    return desc.causal && qOffset - kOffset == keys() - desc.q_len;
  }
  /// True if the mask hides a key of keys() from a query. Without a window it
  /// hides none if all keys precede the queries.
  bool isMasked() const {
    if (!desc.causal)
      return false;
    bool hidesAfter = qOffset < kOffset + keys() - 1;
    bool hidesBefore = desc.window > 0 && kOffset <= qOffset + desc.q_len - 1 -
                                                         int64_t(desc.window);
    return hidesAfter || hidesBefore;
  }
  /// Bytes of [B, heads, S] f32 numbers, rounded up for alignment.
  int64_t statsBytes() const {
    return (desc.batch * heads() * desc.q_len * 4 + 255) / 256 * 256;
  }

  /// Returns why cuDNN is known not to support this call. Other refusals come
  /// from cuDNN itself.
  std::string refuse() const {
    if (desc.dtype != TESSERA_RT_BF16)
      return "cuDNN's attention is for bf16";
    if (keys() <= 0)
      return "no query sees a key";
    if (desc.has_starts)
      return "cuDNN's masks have no documents";
    if (desc.has_bias || desc.softcap_bits)
      return "scores with a bias or a softcap are left to own kernels";
    bool isTopLeft = qOffset == kOffset;
    if (isMasked() && !isTopLeft && !isBottomRight())
      return format("cuDNN's causal mask begins or ends where queries and keys "
                    "do, but queries begin at %lld and keys at %lld",
                    (long long)qOffset, (long long)kOffset);
    return "";
  }

  bool isWide() const { return desc.result_dtype != desc.dtype; }
  int64_t outElements() const {
    return desc.batch * desc.q_len * heads() * desc.v_head_dim;
  }
  /// Bytes of the bf16 copy of an f32 result, rounded up for alignment; or 0.
  int64_t narrowBytes() const {
    return isWide() ? (outElements() * 2 + 255) / 256 * 256 : 0;
  }

  bool operator==(const Problem &other) const {
    return memcmp(&desc, &other.desc, sizeof(desc)) == 0 &&
           qOffset == other.qOffset && kOffset == other.kOffset;
  }
};

/// The plans of a problem.
struct Plans {
  Problem problem;
  std::shared_ptr<fe::graph::Graph> forward, backward;
};

/// Calls the frontend and turns its exceptions into messages.
template <typename Function> std::string guarded(Function function) {
  try {
    fe::error_t error = function();
    return error.is_good() ? "" : "cuDNN: " + error.get_message();
  } catch (const std::exception &exception) {
    return std::string("cuDNN: ") + exception.what();
  }
}

/// Builds the graphs of a problem.
class GraphMaker {
public:
  explicit GraphMaker(const Problem &p)
      : p(p), graph(std::make_shared<fe::graph::Graph>()) {
    graph->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  std::shared_ptr<fe::graph::Graph> makeForward() {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_attn_scale(p.scale());
    setMask(options);
    auto results = graph->sdpa(input(Q), input(K), input(V), options);
    output(results[0], Out);
    output(results[1], Stats);
    return graph;
  }

  std::shared_ptr<fe::graph::Graph> makeBackward(bool deterministic) {
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_backward")
                       .set_attn_scale(p.scale())
                       .set_deterministic_algorithm(deterministic);
    setMask(options);
    auto results =
        graph->sdpa_backward(input(Q), input(K), input(V), input(Out),
                             input(Grad), input(Stats), options);
    output(results[0], DQ);
    output(results[1], DK);
    output(results[2], DV);
    return graph;
  }

private:
  using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

  template <typename Options> void setMask(Options &options) const {
    if (!p.isMasked())
      return;
    if (p.qOffset == p.kOffset)
      options.set_causal_mask(true);
    else
      options.set_causal_mask_bottom_right(true);
    // The band has the keys from its left bound before the diagonal on, without
    // that bound itself.
    if (p.desc.window > 0 && p.desc.window < p.keys())
      options.set_diagonal_band_left_bound(int(p.desc.window));
  }

  /// Describes [B, heads, length, dim] stored as [B, length, heads, dim].
  static void setRows(fe::graph::Tensor_attributes &tensor, int64_t batch,
                      int64_t heads, int64_t length, int64_t stored,
                      int64_t dim) {
    tensor.set_dim({batch, heads, length, dim})
        .set_stride({stored * heads * dim, dim, heads * dim, 1});
  }

  void describe(fe::graph::Tensor_attributes &tensor, TensorNumber number) {
    const tessera_rt_attention_desc &d = p.desc;
    int64_t heads = p.heads();
    tensor.set_uid(number);
    if (number == Stats)
      tensor.set_dim({d.batch, heads, d.q_len, 1})
          .set_stride({heads * d.q_len, d.q_len, 1, 1})
          .set_data_type(fe::DataType_t::FLOAT);
    else if (number == K || number == DK)
      setRows(tensor, d.batch, d.groups, p.keys(), d.kv_len, d.head_dim);
    else if (number == V || number == DV)
      setRows(tensor, d.batch, d.groups, p.keys(), d.kv_len, d.v_head_dim);
    else
      setRows(tensor, d.batch, heads, d.q_len, d.q_len,
              number == Q || number == DQ ? d.head_dim : d.v_head_dim);
  }

  Tensor input(TensorNumber number) {
    fe::graph::Tensor_attributes tensor;
    describe(tensor, number);
    return graph->tensor(tensor);
  }
  void output(const Tensor &tensor, TensorNumber number) {
    tensor->set_output(true);
    describe(*tensor, number);
  }

  const Problem &p;
  std::shared_ptr<fe::graph::Graph> graph;
};

class CudnnAttention : public Attention {
public:
  CudnnAttention(Device &device, const CudnnOptions &options)
      : kernels(device), options(options) {}
  ~CudnnAttention() override {
    if (handle)
      guarded([&] {
        fe::detail::destroy_handle(handle);
        return fe::error_t();
      });
  }

  /// Loads cuDNN and the kernel that transposes the logsumexp.
  std::string open() {
    library = findLibrary(LibraryKind::Cudnn);
    if (!library.isUsable())
      return library.error;
    loadCudart();
    fe::cudnn_dlhandle = library.handle;
    std::string error = guarded([&]() -> fe::error_t {
      if (fe::detail::create_handle(&handle) == CUDNN_STATUS_SUCCESS)
        return {};
      return {fe::error_code_t::HANDLE_ERROR, "cudnnCreate failed"};
    });
    return error.empty() ? kernels.load() : error;
  }

  std::string name() const override { return "cudnn " + library.version; }

  bool rounds(const tessera_rt_attention_desc &desc) const override {
    return desc.result_dtype != desc.dtype;
  }

  std::string prepare(const tessera_rt_attention_desc &desc, int64_t qOffset,
                      int64_t kOffset, bool withBackward,
                      int64_t &workspace) override {
    Problem problem{desc, qOffset, kOffset};
    std::string error = problem.refuse();
    if (error.empty() && withBackward)
      error = refuseBackward(problem);
    Plans *plans = error.empty() ? &plansOf(problem) : nullptr;
    int64_t needed = 0;
    if (plans && !plans->forward)
      error = build(plans->forward, GraphMaker(problem).makeForward());
    if (plans && withBackward && error.empty() && !plans->backward)
      error = build(plans->backward,
                    GraphMaker(problem).makeBackward(options.deterministic));
    if (error.empty())
      error = addNeed(plans->forward, needed);
    if (error.empty() && withBackward)
      error = addNeed(plans->backward, needed);
    if (error.empty())
      workspace = problem.statsBytes() + problem.narrowBytes() + needed;
    return error;
  }

  std::string forward(Stream stream, const AttentionCall &call, void *out,
                      float *logsumexp, void *workspace) override {
    Problem problem{call.desc, call.qOffset, call.kOffset};
    void *narrow = static_cast<char *>(workspace) + problem.statsBytes();
    std::unordered_map<int64_t, void *> tensors{
        {Q, plain(call.q)},
        {K, plain(call.k)},
        {V, plain(call.v)},
        {Out, problem.isWide() ? narrow : out},
        {Stats, workspace}};
    std::string error =
        execute(stream, plansOf(problem).forward, tensors, workspace, problem);
    if (error.empty() && problem.isWide())
      error = launchWiden(kernels, stream, narrow, out, problem.outElements());
    if (error.empty() && logsumexp)
      error = moveStats(stream, problem, workspace, logsumexp, true);
    return error;
  }

  std::string backward(Stream stream, const AttentionCall &call,
                       const void *grad, const void *out,
                       const float *logsumexp, void *dq, void *dk, void *dv,
                       void *workspace) override {
    Problem problem{call.desc, call.qOffset, call.kOffset};
    std::string error = clearPadding(stream, problem, dk, dv);
    if (error.empty())
      error = moveStats(stream, problem, logsumexp, workspace, false);
    std::unordered_map<int64_t, void *> tensors{
        {Q, plain(call.q)}, {K, plain(call.k)}, {V, plain(call.v)},
        {Out, plain(out)},  {Stats, workspace}, {Grad, plain(grad)},
        {DQ, dq},           {DK, dk},           {DV, dv}};
    return error.empty() ? execute(stream, plansOf(problem).backward, tensors,
                                   workspace, problem)
                         : error;
  }

private:
  /// Returns why cuDNN's backward must not be used. The second defect is in the
  /// release notes of the frontend 1.16; on an H200 it gave NaN or an illegal
  /// address in the second step.
  std::string refuseBackward(const Problem &problem) const {
    if (problem.isWide())
      return "the gradients of cuDNN are bf16, and those here are f32";
    if (!options.isRecorded || library.versionNumber >= 91501 ||
        problem.keys() % 128 == 0)
      return "";
    return format("the backward of cuDNN before 9.15.1 (this is %s) is wrong "
                  "in a recorded step if the keys, here %lld, are no multiple "
                  "of 128; --no-graph would do",
                  library.version.c_str(), (long long)problem.keys());
  }

  static void *plain(const void *memory) { return const_cast<void *>(memory); }

  /// The frontend opens the CUDA runtime by its name. This loads it from the
  /// folders of the other libraries, in case the loader does not find it.
  static void loadCudart() {
    const char *name = "libcudart.so.13";
    if (dlopen(name, RTLD_NOW))
      return;
    for (const std::string &folder : libraryFolders())
      if (dlopen((folder + "/" + name).c_str(), RTLD_NOW))
        return;
  }

  Plans &plansOf(const Problem &problem) {
    for (const std::unique_ptr<Plans> &known : all)
      if (known->problem == problem)
        return *known;
    all.push_back(std::make_unique<Plans>(Plans{problem, nullptr, nullptr}));
    return *all.back();
  }

  std::string build(std::shared_ptr<fe::graph::Graph> &to,
                    const std::shared_ptr<fe::graph::Graph> &graph) {
    std::string error = guarded([&]() -> fe::error_t {
      fe::error_t error = graph->validate();
      if (error.is_good())
        error = graph->build_operation_graph(handle);
      if (error.is_good())
        error = graph->create_execution_plans({fe::HeurMode_t::A});
      if (error.is_bad())
        return error;
      graph->deselect_workspace_greater_than(options.workspaceBytes);
      error = graph->check_support(handle);
      return error.is_good() ? graph->build_plans(handle) : error;
    });
    if (error.empty())
      to = graph;
    return error;
  }

  static std::string addNeed(const std::shared_ptr<fe::graph::Graph> &graph,
                             int64_t &needed) {
    int64_t bytes = 0;
    std::string error =
        guarded([&] { return graph->get_workspace_size(bytes); });
    needed = std::max(needed, bytes);
    return error;
  }

  std::string execute(Stream stream,
                      const std::shared_ptr<fe::graph::Graph> &graph,
                      std::unordered_map<int64_t, void *> &tensors,
                      void *workspace, const Problem &problem) {
    if (!graph)
      return "an attention call that was not made ready";
    return guarded([&]() -> fe::error_t {
      if (fe::detail::set_stream(handle,
                                 static_cast<cudaStream_t>(stream.handle)) !=
          CUDNN_STATUS_SUCCESS)
        return {fe::error_code_t::HANDLE_ERROR, "cudnnSetStream failed"};
      return graph->execute(handle, tensors,
                            static_cast<char *>(workspace) +
                                problem.statsBytes() + problem.narrowBytes());
    });
  }

  /// Transposes between cuDNN's [B, heads, S] and the C ABI's [B, S, heads].
  std::string moveStats(Stream stream, const Problem &problem, const void *from,
                        void *to, bool fromCudnn) {
    int64_t heads = problem.heads(), length = problem.desc.q_len;
    int64_t shape[3] = {problem.desc.batch, heads, length};
    int64_t theirs[3] = {heads * length, length, 1};
    int64_t ours[3] = {heads * length, 1, heads};
    return launchCopy(kernels, stream, 4, 3, shape, from,
                      fromCudnn ? theirs : ours, to, fromCudnn ? ours : theirs);
  }

  /// Zeroes the gradients of keys that are padding.
  std::string clearPadding(Stream stream, const Problem &problem, void *dk,
                           void *dv) {
    const tessera_rt_attention_desc &d = problem.desc;
    if (problem.keys() == d.kv_len)
      return "";
    int64_t rows = d.batch * d.kv_len * d.groups;
    std::string error =
        launchFill(kernels, stream, 2, dk, rows * d.head_dim, 0);
    return error.empty()
               ? launchFill(kernels, stream, 2, dv, rows * d.v_head_dim, 0)
               : error;
  }

  BuiltinKernels kernels;
  CudnnOptions options;
  Library library;
  cudnnHandle_t handle = nullptr;
  /// Plans in order of first use.
  std::vector<std::unique_ptr<Plans>> all;
};
} // namespace

std::unique_ptr<Attention> tessera::rt::cuda::createCudnnAttention(
    Device &device, const CudnnOptions &options, std::string &error) {
  auto attention = std::make_unique<CudnnAttention>(device, options);
  error = attention->open();
  if (!error.empty())
    return nullptr;
  return attention;
}
