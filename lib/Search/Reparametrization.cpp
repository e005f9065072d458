//===- Reparametrization.cpp - Sweeps of TRW-S in integers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reparametrization.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace tessera;
using namespace tessera::search;

/// Positions are copied without removed states once the rest is less than this
/// share.
static constexpr double kShrunkShare = 0.75;

NetworkView::NetworkView(const CostNetwork &network)
    : network(network), earlier(network.variables.size()),
      later(network.variables.size()) {
  struct Scaled {
    std::shared_ptr<const CostTable> table;
    int64_t largest;
  };
  std::map<std::pair<unsigned, int64_t>, Scaled> scaled;
  for (auto [e, edge] : llvm::enumerate(network.edges)) {
    later[edge.first].push_back(e);
    earlier[edge.second].push_back(e);
    auto &[table, largest] = scaled[{edge.table, edge.weight}];
    if (!table) {
      auto copy = std::make_shared<CostTable>(network.tables[edge.table]);
      for (int64_t &cost : copy->costs)
        cost = scaleCost(cost, edge.weight);
      largest = getLargestFinite(copy->costs);
      table = std::move(copy);
    }
    tables.push_back(table);
    total += largest;
  }
  for (const CostNetwork::Variable &variable : network.variables)
    total += getLargestFinite(variable.costs);
}

int64_t NetworkView::countShares(unsigned variable) const {
  auto sum = [&](llvm::ArrayRef<unsigned> at) {
    int64_t all = 0;
    for (unsigned e : at)
      all += network.edges[e].copies;
    return all;
  };
  return std::max(sum(earlier[variable]), sum(later[variable]));
}

Reparametrization::Reparametrization(const NetworkView &view) : view(&view) {
  for (const CostNetwork::Variable &variable : view.network.variables) {
    size_t count = variable.costs.size();
    states.emplace_back(count);
    std::iota(states.back().begin(), states.back().end(), 0u);
    costs.push_back(variable.costs);
    marginals.emplace_back(count, 0);
    alive.push_back(llvm::count_if(
        variable.costs, [](int64_t cost) { return cost < kInfinite; }));
    numAlive += alive.back();
    numPositions += count;
    parts.push_back(view.countShares(states.size() - 1));
  }
  for (auto [e, edge] : llvm::enumerate(view.network.edges)) {
    toFirst.emplace_back(costs[edge.first].size(), 0);
    toSecond.emplace_back(costs[edge.second].size(), 0);
    edges.push_back({view.tables[e].get(),
                     &view.network.classes[edge.firstClasses],
                     &view.network.classes[edge.secondClasses]});
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The position of a state; kNone if it was removed and dropped in a copy.
unsigned Reparametrization::find(unsigned variable, unsigned state) const {
  llvm::ArrayRef<unsigned> list = states[variable];
  if (state < list.size() && list[state] == state)
    return state;
  const unsigned *it = llvm::lower_bound(list, state);
  return it == list.end() || *it != state ? kNone : it - list.begin();
}

std::vector<unsigned> Reparametrization::getStates(unsigned variable) const {
  std::vector<unsigned> left;
  for (auto [state, cost] : llvm::zip_equal(states[variable], costs[variable]))
    if (cost < kNearInfinite)
      left.push_back(state);
  return left;
}

std::vector<int64_t> Reparametrization::getMoved(unsigned e,
                                                 bool isFirst) const {
  const CostNetwork::Edge &edge = view->network.edges[e];
  unsigned variable = isFirst ? edge.first : edge.second;
  std::vector<int64_t> all(view->network.variables[variable].costs.size());
  for (auto [state, moved] :
       llvm::zip_equal(states[variable], isFirst ? toFirst[e] : toSecond[e]))
    all[state] = moved;
  return all;
}

Messages Reparametrization::getMoved() const {
  Messages all;
  for (unsigned e = 0; e < edges.size(); ++e)
    all.push_back(getMoved(e, /*isFirst=*/true));
  return all;
}

bool Reparametrization::remove(unsigned variable, unsigned position) {
  costs[variable][position] = kInfinite;
  --numAlive;
  return --alive[variable] != 0;
}

void Reparametrization::keepOnly(unsigned variable, unsigned state) {
  for (auto [other, cost] : llvm::zip_equal(states[variable], costs[variable]))
    if (other != state)
      cost = kInfinite;
  numAlive -= alive[variable] - 1;
  alive[variable] = 1;
}

//===----------------------------------------------------------------------===//
// Smaller copies
//===----------------------------------------------------------------------===//

/// Equal layers lose the same states, so they share the remaining tables.
/// Addresses in a map are stable.
struct Reparametrization::Shrunk {
  /// The table of the remaining rows and columns.
  std::map<std::tuple<const CostTable *, std::vector<uint32_t>,
                      std::vector<uint32_t>>,
           CostTable>
      tables;
  /// Shared lists of classes.
  std::set<std::vector<uint32_t>> classes;

  const CostTable *addTable(const CostTable &from, std::vector<uint32_t> rows,
                            std::vector<uint32_t> columns);
};

const CostTable *
Reparametrization::Shrunk::addTable(const CostTable &from,
                                    std::vector<uint32_t> rows,
                                    std::vector<uint32_t> columns) {
  if (rows.size() == from.rows && columns.size() == from.columns)
    return &from;
  auto [it, isNew] = tables.try_emplace({&from, rows, columns});
  CostTable &table = it->second;
  if (!isNew)
    return &table;
  table.rows = rows.size();
  table.columns = columns.size();
  table.costs.reserve(rows.size() * columns.size());
  for (uint32_t row : rows)
    for (uint32_t column : columns)
      table.costs.push_back(from.at(row, column));
  return &table;
}

/// Keeps the entries of `list` at positions of remaining states.
template <typename T>
static void keepAlive(std::vector<T> &list, llvm::ArrayRef<int64_t> costs) {
  size_t kept = 0;
  for (auto [position, cost] : llvm::enumerate(costs))
    if (cost < kNearInfinite)
      list[kept++] = list[position];
  list.resize(kept);
}

/// Renumbers the classes of remaining states; returns the old ones, ascending.
static std::vector<uint32_t> renumber(std::vector<uint32_t> &classes) {
  std::vector<uint32_t> left = classes;
  llvm::sort(left);
  left.erase(llvm::unique(left), left.end());
  for (uint32_t &number : classes)
    number = llvm::lower_bound(left, number) - left.begin();
  return left;
}

void Reparametrization::dropRemoved() {
  for (unsigned e = 0; e < edges.size(); ++e) {
    const CostNetwork::Edge &edge = view->network.edges[e];
    keepAlive(toFirst[e], costs[edge.first]);
    keepAlive(toSecond[e], costs[edge.second]);
  }
  for (unsigned v = 0; v < costs.size(); ++v) {
    keepAlive(states[v], costs[v]);
    keepAlive(marginals[v], costs[v]);
    llvm::erase_if(costs[v],
                   [](int64_t cost) { return cost >= kNearInfinite; });
  }
  numPositions = numAlive;
}

/// Copies the remaining entries if they are much fewer.
void Reparametrization::shrink() {
  if (double(numAlive) > kShrunkShare * double(numPositions))
    return;
  dropRemoved();
  auto next = std::make_shared<Shrunk>();
  for (unsigned e = 0; e < edges.size(); ++e) {
    const CostNetwork::Edge &edge = view->network.edges[e];
    auto getClasses = [&](unsigned variable, unsigned number) {
      std::vector<uint32_t> classes;
      for (unsigned state : states[variable])
        classes.push_back(view->network.classes[number][state]);
      return classes;
    };
    std::vector<uint32_t> first = getClasses(edge.first, edge.firstClasses);
    std::vector<uint32_t> second = getClasses(edge.second, edge.secondClasses);
    std::vector<uint32_t> rows = renumber(first), columns = renumber(second);
    edges[e].table =
        next->addTable(*view->tables[e], std::move(rows), std::move(columns));
    edges[e].first = &*next->classes.insert(std::move(first)).first;
    edges[e].second = &*next->classes.insert(std::move(second)).first;
  }
  shrunk = std::move(next);
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// taken[i] = min(taken[i], costs[i] + given).
LLVM_ATTRIBUTE_ALWAYS_INLINE static void
takeLeast(int64_t *taken, const int64_t *costs, int64_t given, size_t count) {
  for (size_t i = 0; i < count; ++i)
    taken[i] = std::min(taken[i], costs[i] + given);
}

/// The least of costs[i] + given[i].
LLVM_ATTRIBUTE_ALWAYS_INLINE static int64_t
getLeast(const int64_t *costs, const int64_t *given, size_t count) {
  int64_t least = kInfinite;
  for (size_t i = 0; i < count; ++i)
    least = std::min(least, costs[i] + given[i]);
  return least;
}

/// Writes the cheapest pair of each row with `given` for the columns, or of
/// each column with `given` for the rows, to `taken`. The inner loop of sweeps.
LLVM_ATTRIBUTE_ALWAYS_INLINE static void takePairs(const CostTable &table,
                                                   bool byRow,
                                                   const int64_t *given,
                                                   int64_t *taken) {
  const int64_t *costs = table.costs.data();
  for (unsigned row = 0; row < table.rows; ++row, costs += table.columns)
    if (byRow)
      taken[row] = getLeast(costs, given, table.columns);
    else if (given[row] < kNearInfinite)
      takeLeast(taken, costs, given[row], table.columns);
}

#if defined(__x86_64__)
/// The same with four costs at a time: the baseline instructions of x86-64 do
/// not compare 64-bit integers.
__attribute__((target("avx2"))) static void
takePairsWide(const CostTable &table, bool byRow, const int64_t *given,
              int64_t *taken) {
  takePairs(table, byRow, given, taken);
}
static const bool hasWide = __builtin_cpu_supports("avx2");
#else
static constexpr bool hasWide = false;
static constexpr auto takePairsWide = takePairs;
#endif

void search::takeCheapestPairs(const CostTable &table, bool byRow,
                               const std::vector<int64_t> &given,
                               std::vector<int64_t> &taken) {
  (hasWide ? takePairsWide : takePairs)(table, byRow, given.data(),
                                        taken.data());
}

/// Moves the cost of the cheapest pair on `edge` to each state of `variable`,
/// which leaves 0 there. Removes states without a pair of finite cost.
void Reparametrization::collect(unsigned variable, unsigned e) {
  const CostNetwork::Edge &edge = view->network.edges[e];
  const CostTable &table = *edges[e].table;
  bool isFirst = edge.first == variable;
  llvm::ArrayRef<int64_t> others = costs[isFirst ? edge.second : edge.first];
  llvm::ArrayRef<uint32_t> mine = *(isFirst ? edges[e].first : edges[e].second);
  llvm::ArrayRef<uint32_t> theirs =
      *(isFirst ? edges[e].second : edges[e].first);
  std::vector<int64_t> &myMoved = isFirst ? toFirst[e] : toSecond[e];
  const std::vector<int64_t> &theirMoved = isFirst ? toSecond[e] : toFirst[e];

  given.assign(isFirst ? table.columns : table.rows, kInfinite);
  for (auto [i, moved] : llvm::enumerate(theirMoved))
    if (others[i] < kNearInfinite)
      given[theirs[i]] = std::min(given[theirs[i]], -moved);
  taken.assign(isFirst ? table.rows : table.columns, kInfinite);
  takeCheapestPairs(table, isFirst, given, taken);
  for (auto [i, cost] : llvm::enumerate(costs[variable])) {
    if (cost >= kNearInfinite)
      continue;
    int64_t least = taken[mine[i]];
    if (least >= kNearInfinite) {
      remove(variable, i);
      continue;
    }
    cost += least - myMoved[i];
    myMoved[i] = least;
    largestMoved = std::max(largestMoved, std::abs(least));
  }
}

/// Moves the least cost of a variable to the bound.
bool Reparametrization::normalize(unsigned variable, int64_t limit) {
  if (alive[variable] == 0)
    return false;
  std::vector<int64_t> &mine = costs[variable];
  int64_t least = *llvm::min_element(mine);
  bound += least;
  for (auto [i, cost] : llvm::enumerate(mine)) {
    marginals[variable][i] = kInfinite;
    if (cost >= kNearInfinite)
      continue;
    cost -= least;
    if (bound + cost > limit)
      remove(variable, i);
    else
      marginals[variable][i] = bound + cost;
  }
  return alive[variable] != 0;
}

/// Edges may be below 0 until all costs are moved, so no state is removed for
/// its cost.
void Reparametrization::start(const Messages &moved) {
  llvm::ArrayRef<CostNetwork::Edge> edges = view->network.edges;
  for (unsigned e = 0; e < edges.size(); ++e) {
    for (auto [cost, given] :
         llvm::zip_equal(costs[edges[e].first], moved[e])) {
      cost += cost < kNearInfinite ? given : 0;
      largestMoved = std::max(largestMoved, std::abs(given));
    }
    toFirst[e] = moved[e];
  }
  for (unsigned e = 0; e < edges.size(); ++e)
    collect(edges[e].second, e);
  for (unsigned variable = 0; variable < costs.size(); ++variable)
    normalize(variable, kInfinite);
}

void Reparametrization::distribute(unsigned variable, bool forward) {
  llvm::ArrayRef<unsigned> next =
      forward ? view->later[variable] : view->earlier[variable];
  llvm::ArrayRef<CostNetwork::Edge> all = view->network.edges;
  int64_t numShares = 0;
  for (unsigned e : next)
    numShares += all[e].copies;
  shares.clear();
  for (int64_t &cost : costs[variable]) {
    shares.push_back(cost < kNearInfinite ? cost / parts[variable] : 0);
    cost -= numShares * shares.back();
  }
  for (unsigned e : next)
    for (auto [moved, share] :
         llvm::zip_equal(forward ? toFirst[e] : toSecond[e], shares))
      moved -= share * all[e].copies;
}

int64_t Reparametrization::getResidual(unsigned e, unsigned firstState,
                                       unsigned secondState) const {
  const CostNetwork::Edge &edge = view->network.edges[e];
  unsigned first = find(edge.first, firstState);
  unsigned second = find(edge.second, secondState);
  if (first == kNone || second == kNone)
    return kInfinite;
  int64_t cost =
      edges[e].table->at((*edges[e].first)[first], (*edges[e].second)[second]);
  return cost >= kNearInfinite ? kInfinite
                               : cost - toFirst[e][first] - toSecond[e][second];
}

std::vector<unsigned> Reparametrization::round(bool forward) const {
  unsigned count = costs.size();
  std::vector<unsigned> chosen(count);
  for (unsigned i = 0; i < count; ++i) {
    unsigned variable = forward ? i : count - 1 - i;
    std::vector<int64_t> sums = costs[variable];
    for (unsigned e : (forward ? view->earlier : view->later)[variable]) {
      const CostNetwork::Edge &edge = view->network.edges[e];
      for (auto [state, sum] : llvm::zip_equal(states[variable], sums))
        sum =
            addCosts(sum, forward ? getResidual(e, chosen[edge.first], state)
                                  : getResidual(e, state, chosen[edge.second]));
    }
    chosen[variable] = states[variable][llvm::min_element(sums) - sums.begin()];
  }
  return chosen;
}

bool Reparametrization::sweep(bool forward, int64_t limit) {
  // A sweep moves at most a few times the total, 2^55.
  constexpr int64_t kMostMoved = int64_t(1) << 58;
  if (largestMoved > kMostMoved)
    return true;
  shrink();
  limit = std::min(limit, view->total);
  unsigned count = costs.size();
  for (unsigned i = 0; i < count; ++i) {
    unsigned variable = forward ? i : count - 1 - i;
    for (unsigned e : forward ? view->earlier[variable] : view->later[variable])
      collect(variable, e);
    if (!normalize(variable, limit))
      return false;
    if (!(forward ? view->later : view->earlier)[variable].empty())
      distribute(variable, forward);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// One sweep
//===----------------------------------------------------------------------===//

namespace {

/// A forward sweep that keeps the costs moved along edges whose second variable
/// is yet to come.
class ForwardSweep {
public:
  ForwardSweep(const NetworkView &view, MessageReader messages)
      : view(view), messages(messages), moved(view.network.edges.size()) {}

  int64_t run();

private:
  void collect(unsigned edge);
  void distribute(unsigned variable);

  const NetworkView &view;
  MessageReader messages;
  /// Moved costs by edge and state of its first variable; -kInfinite for a
  /// state without an assignment of finite cost.
  std::vector<std::vector<int64_t>> moved;
  /// Costs of the current variable.
  std::vector<int64_t> costs;
  std::vector<int64_t> given, taken;
};

} // namespace

void ForwardSweep::collect(unsigned e) {
  const CostNetwork::Edge &edge = view.network.edges[e];
  const CostTable &table = *view.tables[e];
  llvm::ArrayRef<uint32_t> theirs = view.network.classes[edge.firstClasses];
  llvm::ArrayRef<uint32_t> mine = view.network.classes[edge.secondClasses];
  given.assign(table.rows, kInfinite);
  for (auto [row, cost] : llvm::zip_equal(theirs, moved[e]))
    given[row] = std::min(given[row], -cost);
  taken.assign(table.columns, kInfinite);
  takeCheapestPairs(table, /*byRow=*/false, given, taken);
  for (auto [cost, column] : llvm::zip_equal(costs, mine))
    cost = taken[column] < kNearInfinite && cost < kNearInfinite
               ? cost + taken[column]
               : kInfinite;
  moved[e] = {};
}

void ForwardSweep::distribute(unsigned variable) {
  int64_t shares = view.countShares(variable);
  for (unsigned e : view.later[variable]) {
    moved[e] = messages(e);
    for (auto [left, cost] : llvm::zip_equal(moved[e], costs))
      left = cost < kNearInfinite
                 ? left - cost / shares * view.network.edges[e].copies
                 : -kInfinite;
  }
}

int64_t ForwardSweep::run() {
  int64_t bound = 0;
  for (unsigned v = 0; v < view.network.variables.size(); ++v) {
    costs = view.network.variables[v].costs;
    for (unsigned e : view.later[v])
      for (auto [cost, given] : llvm::zip_equal(costs, messages(e)))
        cost += cost < kNearInfinite ? given : 0;
    for (unsigned e : view.earlier[v])
      collect(e);
    int64_t least = *llvm::min_element(costs);
    if (least >= kNearInfinite)
      return kInfinite;
    bound += least;
    for (int64_t &cost : costs)
      cost -= cost < kNearInfinite ? least : 0;
    distribute(v);
  }
  return bound;
}

int64_t search::boundBySweep(const NetworkView &view, MessageReader messages) {
  return ForwardSweep(view, messages).run();
}
