//===- NetworkTables.cpp - The edges of a sharding network ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An edge is a table over the shardings at its two ends. Equal layers have
// equal tables, which are built once.
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"
#include "llvm/ADT/STLExtras.h"
#include <set>
#include <tuple>

using namespace tessera;
using llvm::ArrayRef;
using search::kInfinite;

/// Reshards that are planned around one of a solution on far links.
static constexpr size_t kMostAround = 16;

static bool hasSameDims(const Sharding &a, const Sharding &b) {
  return llvm::all_of_zip(
      a.dims, b.dims, [](const DimSharding &mine, const DimSharding &other) {
        return mine.axes == other.axes;
      });
}

int64_t ShardingNetwork::getPrice(const TableSpec &spec, const End &from,
                                  unsigned to) {
  const Sharding &has = prices.getSharding(from.sharding);
  const Sharding &needs = prices.getSharding(to);
  for (unsigned dim : spec.fixedDims.set_bits())
    if (has.dims[dim].axes != needs.dims[dim].axes)
      return kInfinite;
  if (from.sharding == to || from.second == to)
    return 0;
  if (spec.isFixed && !(spec.makesPartial && hasSameDims(has, needs)))
    return kInfinite;
  int64_t price = spec.makesPartial
                      ? prices.getPriceOfPartial(from.sharding, to, spec.shape)
                      : prices.getPrice(from.sharding, to, spec.shape);
  return spec.splitsKernel ? search::addCosts(price, prices.getKernelFloor())
                           : price;
}

search::CostTable ShardingNetwork::makeTable(const TableSpec &spec) {
  search::CostTable table;
  table.rows = spec.from.size();
  table.columns = spec.to.size();
  if (spec.isTransposed)
    std::swap(table.rows, table.columns);
  for (unsigned row = 0; row < table.rows; ++row)
    for (unsigned column = 0; column < table.columns; ++column) {
      int64_t price = spec.isTransposed
                          ? getPrice(spec, spec.from[column], spec.to[row])
                          : getPrice(spec, spec.from[row], spec.to[column]);
      table.costs.push_back(spec.isHidden ? countHidden(price) : price);
    }
  return table;
}

/// The distinct entries, ascending, and the class of each state.
template <typename T>
static std::vector<uint32_t> classify(ArrayRef<T> states,
                                      std::vector<T> &distinct) {
  std::map<T, uint32_t> numbers;
  for (const T &state : states)
    numbers.try_emplace(state, 0);
  for (auto &[state, number] : numbers) {
    number = distinct.size();
    distinct.push_back(state);
  }
  std::vector<uint32_t> classes;
  for (const T &state : states)
    classes.push_back(numbers.find(state)->second);
  return classes;
}

/// The table and the classes of an edge, without its variables and weight.
search::CostNetwork::Edge ShardingNetwork::makeEdge(ArrayRef<End> from,
                                                    ArrayRef<unsigned> to,
                                                    TableSpec spec) {
  std::vector<uint32_t> fromClasses = classify(from, spec.from);
  std::vector<uint32_t> toClasses = classify(to, spec.to);
  bool isTransposed = spec.isTransposed;
  std::vector<int64_t> key{spec.shape,        spec.isFixed,      spec.isHidden,
                           spec.splitsKernel, spec.makesPartial, isTransposed};
  for (const End &end : spec.from)
    key.insert(key.end(), {end.sharding, end.second});
  key.push_back(-1);
  key.insert(key.end(), spec.to.begin(), spec.to.end());
  key.push_back(-1);
  for (unsigned dim : spec.fixedDims.set_bits())
    key.push_back(dim);
  auto [it, isNew] = tableNumbers.try_emplace(key, network.tables.size());
  if (isNew) {
    network.addTable(makeTable(spec));
    specs.push_back(std::move(spec));
  }
  auto numberClasses = [&](std::vector<uint32_t> classes) {
    auto [found, isNewList] =
        classNumbers.try_emplace(classes, network.classes.size());
    if (isNewList)
      network.addClasses(std::move(classes));
    return found->second;
  };
  search::CostNetwork::Edge edge;
  edge.table = it->second;
  edge.firstClasses = numberClasses(isTransposed ? toClasses : fromClasses);
  edge.secondClasses = numberClasses(isTransposed ? std::move(fromClasses)
                                                  : std::move(toClasses));
  return edge;
}

template <typename Make>
void ShardingNetwork::addEdge(unsigned from, unsigned to, int64_t weight,
                              std::vector<int64_t> key, Make make) {
  bool isTransposed = to < from;
  key.push_back(isTransposed);
  auto [it, isNew] = edgesAlike.try_emplace(std::move(key));
  if (isNew)
    it->second = make(isTransposed);
  search::CostNetwork::Edge edge = it->second;
  edge.first = std::min(from, to);
  edge.second = std::max(from, to);
  edge.weight = weight;
  network.edges.push_back(edge);
}

/// True for transfers that overlap with kernels: gathers of arguments and of
/// sums, and writes that replace an argument.
bool ShardingNetwork::isHidden(unsigned tensor, bool isInput) const {
  const ShardingProblem::Tensor &mine = problem.tensors[tensor];
  return mine.isArgument || (mine.isSum && isInput);
}

/// The edge between an op and a tensor with a variable.
void ShardingNetwork::addTensorEdge(User user) {
  const ShardingProblem::Op &op = problem.ops[user.op];
  const ShardingProblem::Port &port = op.ports[user.port];
  // A tensor that the op uses twice in the same way is moved once.
  for (unsigned before = 0; before < user.port; ++before)
    if (op.ports[before].tensor == port.tensor &&
        op.ports[before].isInput == port.isInput &&
        lists[listOf[user.op]].ports[before] ==
            lists[listOf[user.op]].ports[user.port])
      return;
  bool hides = isHidden(port.tensor, port.isInput);
  std::vector<int64_t> key{listOf[user.op],    user.port, port.isInput,
                           port.isFixed,       hides,     shapes[port.tensor],
                           endsOf[port.tensor]};
  for (unsigned dim : port.fixedDims.set_bits())
    key.push_back(dim);
  auto make = [&](bool isTransposed) {
    TableSpec spec;
    spec.shape = shapes[port.tensor];
    spec.isFixed = port.isFixed;
    spec.isHidden = hides;
    spec.splitsKernel = port.isInKernel;
    spec.isTransposed = isTransposed;
    ArrayRef<unsigned> numbers = lists[listOf[user.op]].ports[user.port];
    ArrayRef<End> mine = getEnds(port.tensor);
    if (port.isInput) {
      spec.fixedDims = port.fixedDims;
      return makeEdge(mine, numbers, std::move(spec));
    }
    spec.makesPartial = !problem.tensors[port.tensor].seed.unreduced.empty();
    std::vector<End> from;
    for (unsigned number : numbers)
      from.push_back({number});
    std::vector<unsigned> to;
    for (const End &end : mine)
      to.push_back(end.sharding);
    return makeEdge(from, to, std::move(spec));
  };
  unsigned tensor = variableOfTensor[port.tensor], mine = variableOfOp[user.op];
  addEdge(port.isInput ? tensor : mine, port.isInput ? mine : tensor, op.trips,
          std::move(key), make);
}

/// The edge between the op that makes a value and the one that uses it.
void ShardingNetwork::addOpEdge(User from, User to) {
  unsigned shape = shapes[getPort(from).tensor];
  auto make = [&](bool isTransposed) {
    std::vector<End> has;
    for (unsigned number : lists[listOf[from.op]].ports[from.port])
      has.push_back({number});
    TableSpec spec;
    spec.shape = shape;
    spec.splitsKernel = getPort(from).isInKernel || getPort(to).isInKernel;
    spec.isTransposed = isTransposed;
    return makeEdge(has, lists[listOf[to.op]].ports[to.port], std::move(spec));
  };
  // This key is shorter than the key of any edge to a tensor.
  addEdge(variableOfOp[from.op], variableOfOp[to.op],
          problem.ops[from.op].trips,
          {listOf[from.op], from.port, listOf[to.op], to.port, shape}, make);
}

/// The edges of an op to tensors, and to ops before it.
void ShardingNetwork::addEdges(unsigned op) {
  for (auto [p, port] : llvm::enumerate(problem.ops[op].ports)) {
    if (port.tensor == ShardingProblem::kNone)
      continue;
    User user{op, static_cast<unsigned>(p)};
    if (variableOfTensor[port.tensor] != ShardingProblem::kNone) {
      addTensorEdge(user);
      continue;
    }
    // Skips a tensor with one user; adds an edge between two at the later one.
    ArrayRef<User> at = users[port.tensor];
    if (at.size() != 2)
      continue;
    User other = at[0].op == op ? at[1] : at[0];
    if (variableOfOp[other.op] == ShardingProblem::kNone)
      continue;
    if (port.isInput)
      addOpEdge(other, user);
    else
      addOpEdge(user, other);
  }
}

void ShardingNetwork::refresh() {
  for (auto [table, spec] : llvm::zip_equal(network.tables, specs))
    table = makeTable(spec);
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (variableOfTensor[t] != ShardingProblem::kNone)
      for (auto [cost, end] : llvm::zip_equal(
               network.variables[variableOfTensor[t]].costs, getEnds(t)))
        cost = getEndCost(t, end);
}

/// Calls `visit` with the spec of each edge under an assignment.
template <typename Visit>
static void visitEdges(const search::CostNetwork &network,
                       ArrayRef<unsigned> states, Visit visit) {
  for (const search::CostNetwork::Edge &edge : network.edges)
    visit(edge, network.classes[edge.firstClasses][states[edge.first]],
          network.classes[edge.secondClasses][states[edge.second]]);
}

SearchedTimes ShardingNetwork::getTimes(ArrayRef<unsigned> states) {
  SearchedTimes times;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    int64_t each = lists[listOf[op]].costs[states[variableOfOp[op]]];
    times.kernels += each * problem.ops[op].trips;
    times.longest = std::max(times.longest, each);
  }
  visitEdges(network, states,
             [&](const search::CostNetwork::Edge &edge, unsigned row,
                 unsigned column) {
               const TableSpec &spec = specs[edge.table];
               if (spec.isTransposed)
                 std::swap(row, column);
               (spec.isHidden ? times.beside : times.waited) +=
                   getPrice(spec, spec.from[row], spec.to[column]) *
                   edge.weight;
             });
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (variableOfTensor[t] != ShardingProblem::kNone)
      times.beside += getSecondCost(t, getEnds(t)[states[variableOfTensor[t]]]);
  return times;
}

/// Plans a reshard. If its cost rises, other reshards from or to its ends might
/// replace it. Those that seem cheaper by no more than the rise are planned
/// too, the cheapest first.
bool ShardingNetwork::planAround(const TableSpec &spec, unsigned from,
                                 unsigned to) {
  if (spec.isFixed)
    return false;
  bool changed = false;
  auto plan = [&](unsigned a, unsigned b) {
    const End &end = spec.from[a];
    if (end.sharding != spec.to[b] && end.second != spec.to[b])
      changed |= prices.plan(end.sharding, spec.to[b], spec.shape);
  };
  int64_t before = getPrice(spec, spec.from[from], spec.to[to]);
  plan(from, to);
  if (!changed)
    return false;
  int64_t price = getPrice(spec, spec.from[from], spec.to[to]);
  std::vector<std::tuple<int64_t, unsigned, unsigned>> others;
  auto offer = [&](unsigned a, unsigned b) {
    int64_t other = getPrice(spec, spec.from[a], spec.to[b]);
    if (0 < other && 2 * before - price <= other && other < price)
      others.push_back({other, a, b});
  };
  for (unsigned i = 0; i < spec.from.size(); ++i)
    offer(i, to);
  for (unsigned j = 0; j < spec.to.size(); ++j)
    offer(from, j);
  llvm::sort(others);
  if (prices.hasFarLinks())
    others.resize(std::min(others.size(), kMostAround));
  for (auto [other, a, b] : others)
    plan(a, b);
  return changed;
}

void ShardingNetwork::planReshards(ArrayRef<unsigned> states) {
  bool changed = false;
  // Equal layers need the same plans.
  std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
  visitEdges(network, states,
             [&](const search::CostNetwork::Edge &edge, unsigned row,
                 unsigned column) {
               if (!seen.insert({edge.table, row, column}).second)
                 return;
               const TableSpec &spec = specs[edge.table];
               if (spec.isTransposed)
                 std::swap(row, column);
               changed |= planAround(spec, row, column);
             });
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (variableOfTensor[t] != ShardingProblem::kNone) {
      const End &end = getEnds(t)[states[variableOfTensor[t]]];
      if (end.second != ShardingProblem::kNone)
        changed |= prices.plan(end.sharding, end.second, shapes[t]);
    }
  if (changed)
    refresh();
}
