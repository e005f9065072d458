//===- MinMarginals.cpp - Lower bounds on the cost of each state ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elimination of a whole network is often too large, but not of the states near
// the optimum. States that no assignment within a slack uses are removed, and
// the slack is halved until the tables fit. Removed states cost more than the
// slack allows, which is their bound.
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"
#include "Reparametrization.h"
#include "tessera/Search/Solver.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::search;
using llvm::Expected;

namespace {

using Marginals = std::vector<std::vector<MinMarginal>>;

/// Sweeps that remove states, after the sweeps without a limit.
constexpr unsigned kSweepsOfAttempt = 6;

class MarginalSearch {
public:
  MarginalSearch(const CostNetwork &network, const SolveLimits &limits)
      : network(network), limits(limits), view(network) {
    for (const CostNetwork::Variable &variable : network.variables)
      marginals.emplace_back(variable.costs.size());
  }

  Marginals run(const NetworkSolution &solution);

private:
  bool attempt(Reparametrization costs, int64_t limit);
  void raiseAll(const Reparametrization &costs, int64_t limit);
  void raise(unsigned variable, unsigned state, int64_t cost, bool exact);

  const CostNetwork &network;
  const SolveLimits &limits;
  NetworkView view;
  Marginals marginals;
};

} // namespace

void MarginalSearch::raise(unsigned variable, unsigned state, int64_t cost,
                           bool exact) {
  MinMarginal &marginal = marginals[variable][state];
  marginal.cost = std::max(marginal.cost, cost);
  marginal.exact |= exact;
}

/// Removed states cost more than `limit`.
void MarginalSearch::raiseAll(const Reparametrization &costs, int64_t limit) {
  for (auto [variable, list] : llvm::enumerate(marginals))
    for (unsigned state = 0; state < list.size(); ++state)
      raise(variable, state,
            costs.isAlive(variable, state)
                ? costs.getMarginalBound(variable, state)
                : std::min(limit + 1, kInfinite),
            /*exact=*/limit >= kInfinite && !costs.isAlive(variable, state));
}

/// Finds the min-marginals up to `limit`; the others get a bound. False if the
/// tables are too large; then all get bounds.
bool MarginalSearch::attempt(Reparametrization costs, int64_t limit) {
  Domains domains(network.variables.size());
  // No domain is empty, as the solution is within the limit.
  for (unsigned i = 0; limit < kInfinite && i < kSweepsOfAttempt; ++i) {
    costs.sweep(/*forward=*/true, limit);
    costs.sweep(/*forward=*/false, limit);
  }
  raiseAll(costs, limit);
  for (unsigned variable = 0; variable < domains.size(); ++variable)
    domains[variable] = costs.getStates(variable);
  EliminationOrder order = orderElimination(network, domains);
  if (order.total > limits.tableEntries)
    return false;
  auto exact = eliminateForMarginals(network, domains, order);
  for (unsigned variable = 0; variable < domains.size(); ++variable)
    for (auto [state, cost] : llvm::zip(domains[variable], exact[variable]))
      raise(variable, state, std::min(cost, limit + 1), cost <= limit);
  return true;
}

Marginals MarginalSearch::run(const NetworkSolution &solution) {
  Reparametrization costs(view);
  for (unsigned i = 0; i < limits.sweeps; ++i) {
    costs.sweep(/*forward=*/true);
    costs.sweep(/*forward=*/false);
  }
  // Costs above the total are infinite, so all are exact.
  bool isDone = attempt(costs, kInfinite);
  for (int64_t slack = solution.cost; !isDone; slack /= 2) {
    isDone = attempt(costs, solution.cost + slack);
    if (slack == 0)
      break;
  }
  return std::move(marginals);
}

Expected<Marginals> search::minMarginals(const CostNetwork &network,
                                         const NetworkSolution &solution,
                                         const SolveLimits &limits) {
  if (llvm::Error error = network.check())
    return error;
  if (llvm::Error error = network.checkStates(solution.states))
    return error;
  return MarginalSearch(network, limits).run(solution);
}
