//===- reshard_planner.cpp - Microseconds a reshard plan ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans random pairs of shardings (axes on random dimensions, partial, or
// unused), each for the first time, and then looks them up again. Prints one
// JSON line per mesh. Times are CPU times of the thread, so other load on the
// machine has only an indirect effect.
//
//===----------------------------------------------------------------------===//

#include "tessera/Reshard/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>
#include <numeric>
#include <random>

using namespace tessera;

/// Microseconds that this thread has run.
static double getMicroseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) / 1e3;
}

static Sharding randomSharding(const Mesh &mesh, int64_t rank, bool partial,
                               std::mt19937 &rng) {
  Sharding s = Sharding::replicatedOf(rank);
  std::vector<unsigned> axes(mesh.sizes.size());
  std::iota(axes.begin(), axes.end(), 0u);
  std::shuffle(axes.begin(), axes.end(), rng);
  for (unsigned axis : axes) {
    int64_t position = rng() % (rank + 2);
    if (position < rank)
      s.dims[position].axes.push_back(mesh.fullAxis(axis));
    else if (position == rank && partial)
      s.unreduced.push_back(mesh.fullAxis(axis));
  }
  llvm::sort(s.unreduced);
  return s;
}

enum class Links {
  Equal,
  /// The first axis has slower links than the others.
  FirstFar,
  /// The same on nodes of H100s, with the constants of their library.
  Nodes
};

static void measure(llvm::ArrayRef<int64_t> sizes, int count, Links kind) {
  Mesh mesh;
  std::string text;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    mesh.names.push_back(std::string(1, static_cast<char>('a' + i)));
    mesh.sizes.push_back(size);
    text += (i ? "x" : "") + std::to_string(size);
  }
  MeshLinks links = MeshLinks::uniform(mesh);
  if (kind == Links::FirstFar)
    links.axes[0][0] = {sizes[0], 5e-6, 2e10, /*level=*/1};
  if (kind == Links::Nodes) {
    links.library = CollectiveConstants();
    for (auto [axis, size] : llvm::enumerate(sizes))
      links.axes[axis][0] = axis == 0
                                ? LinkSpan{size, 4.5e-6, 47.5e9, /*level=*/1}
                                : LinkSpan{size, 0.93e-6, 351e9, /*level=*/0};
  }
  std::mt19937 rng(11);
  std::vector<double> times;
  struct Pair {
    Sharding from, to;
    llvm::SmallVector<int64_t> shape;
  };
  std::vector<Pair> pairs;
  int inexact = 0;
  for (int i = 0; i < count; ++i) {
    llvm::SmallVector<int64_t> shape(2 + rng() % 2, mesh.numDevices() * 8);
    Sharding from = randomSharding(mesh, shape.size(), true, rng);
    Sharding to = randomSharding(mesh, shape.size(), false, rng);
    double start = getMicroseconds();
    ReshardPlan plan = planReshard(mesh, links, from, to, shape, 4);
    times.push_back(getMicroseconds() - start);
    inexact += !plan.exact;
    pairs.push_back({from, to, shape});
  }
  ReshardPlanner planner(mesh, links);
  auto planAll = [&] {
    for (const Pair &pair : pairs)
      planner.plan(pair.from, pair.to, pair.shape, 4);
  };
  planAll();
  double start = getMicroseconds();
  planAll();
  double hit = (getMicroseconds() - start) / count;
  llvm::sort(times);
  llvm::outs() << llvm::formatv(
      "{{\"bench\": \"reshard_planner\", \"mesh\": \"{0}\", \"links\": "
      "\"{8}\", \"pairs\": {1}, "
      "\"median_us\": {2:F1}, \"p90_us\": {3:F1}, \"p99_us\": {4:F1}, "
      "\"worst_us\": {5:F1}, \"hit_ns\": {6:F0}, \"inexact\": {7}}\n",
      text, count, times[count / 2], times[count * 9 / 10],
      times[count * 99 / 100], times.back(), hit * 1e3, inexact,
      kind == Links::Equal      ? "equal"
      : kind == Links::FirstFar ? "first far"
                                : "nodes");
  llvm::outs().flush();
}

int main() {
  for (Links kind : {Links::Equal, Links::FirstFar, Links::Nodes}) {
    measure({2, 2}, 400, kind);
    measure({128, 8}, 400, kind);
    measure({2, 2, 2}, 400, kind);
    measure({16, 8, 4}, 400, kind);
    measure({2, 2, 2, 2}, 400, kind);
    measure({8, 8, 8, 4}, 400, kind);
  }
}
