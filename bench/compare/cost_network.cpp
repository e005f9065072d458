//===- cost_network.cpp - Milliseconds to solve a cost function network ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solves random cost function networks with the shape of sharding networks: a
// long chain of ops with skips, states that fall into few classes at an edge,
// and costs of 0 between equal classes. Prints one JSON line per network,
// solved by the library and, if the tables allow it, by elimination alone. With
// a folder as argument, it also writes each network there for toulbar2. Times
// are CPU times of the thread.
//===----------------------------------------------------------------------===//

#include "lib/Search/Elimination.h"
#include "tessera/Search/Solver.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>
#include <numeric>
#include <random>

using namespace tessera::search;

/// Milliseconds that this thread has run.
static double getMilliseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_nsec) / 1e6;
}

static CostNetwork makeChain(unsigned count, unsigned states, unsigned classes,
                             unsigned skips, std::mt19937 &rng) {
  CostNetwork network;
  for (unsigned i = 0; i < count; ++i) {
    std::vector<int64_t> costs(states);
    for (int64_t &cost : costs)
      cost = rng() % 1000000;
    network.addVariable(std::move(costs));
  }
  auto connect = [&](unsigned first, unsigned second) {
    CostTable table{classes, classes, {}};
    for (unsigned row = 0; row < classes; ++row)
      for (unsigned column = 0; column < classes; ++column)
        table.costs.push_back(row == column ? 0 : rng() % 1000000);
    auto addClasses = [&] {
      std::vector<uint32_t> list(states);
      for (uint32_t &c : list)
        c = rng() % classes;
      return network.addClasses(std::move(list));
    };
    CostNetwork::Edge edge{first, second, network.addTable(std::move(table))};
    edge.firstClasses = addClasses();
    edge.secondClasses = addClasses();
    network.edges.push_back(edge);
  };
  for (unsigned i = 1; i < count; ++i) {
    connect(i - 1, i);
    // A residual stream, and gradients that read what the forward computed.
    if (i >= 6 && rng() % 10 < skips)
      connect(i - 2 - rng() % 5, i);
  }
  return network;
}

static void measure(unsigned count, unsigned states, unsigned classes,
                    unsigned skips, llvm::StringRef folder) {
  std::mt19937 rng(7);
  CostNetwork network = makeChain(count, states, classes, skips, rng);
  std::string name = llvm::formatv("{0}x{1}-{2}", count, states, skips);
  if (!folder.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream os((folder + "/" + name + ".cfn").str(), error);
    network.writeCfn(os);
  }
  double start = getMilliseconds();
  NetworkSolution solution = llvm::cantFail(solve(network));
  double time = getMilliseconds() - start;

  Domains domains(count, std::vector<unsigned>(states));
  for (std::vector<unsigned> &domain : domains)
    std::iota(domain.begin(), domain.end(), 0u);
  EliminationOrder order = orderElimination(network, domains);
  std::string alone = "null";
  if (order.largest <= 3e7) {
    start = getMilliseconds();
    eliminate(network, domains, order);
    alone = llvm::formatv("{0:F1}", getMilliseconds() - start);
  }
  llvm::outs() << llvm::formatv(
      "{{\"bench\": \"cost_network\", \"network\": \"{0}\", \"variables\": "
      "{1}, \"states\": {2}, \"edges\": {3}, \"ms\": {4:F1}, \"cost\": {5}, "
      "\"gap\": {6:F6}, \"sweeps\": {7}, \"states_left\": {8}, \"nodes\": {9}, "
      "\"elimination_alone_ms\": {10}, \"largest_table_alone\": {11:F0}}\n",
      name, count, states, network.edges.size(), time, solution.cost,
      solution.gap(), solution.sweeps, solution.statesLeft, solution.nodes,
      alone, order.largest);
  llvm::outs().flush();
}

int main(int argc, char **argv) {
  llvm::StringRef folder = argc > 1 ? argv[1] : "";
  for (unsigned skips : {0, 2, 5}) {
    measure(100, 20, 6, skips, folder);
    measure(450, 40, 12, skips, folder);
  }
  measure(2000, 40, 12, 1, folder);
}
