//===- ShardingNetwork.cpp - A program as a cost network ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables and their states; NetworkTables.cpp has the edges.
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"
#include "tessera/Partition/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Twine;
using search::kInfinite;

Sharding ShardingProblem::getPortSharding(const Op &op, const Port &port,
                                          const RunState &state) const {
  const ShardingRule &ofOp = rules[op.rule];
  if (!port.isOperand) {
    Sharding made =
        getResultSharding(ofOp, ofOp.results[port.index], state.axes);
    made.unreduced.append(state.partial);
    llvm::sort(made.unreduced);
    made.unreduced = mergeAdjacent(made.unreduced);
    return made;
  }
  Sharding needed =
      getOperandSharding(ofOp, ofOp.operands[port.index],
                         tensors[port.tensor].shape.size(), state.axes);
  if (state.partialOperands.test(port.index))
    needed.unreduced = state.partial;
  return needed;
}

void ShardingNetwork::findUsers() {
  users.resize(problem.tensors.size());
  inKernel.resize(problem.tensors.size());
  for (auto [i, op] : llvm::enumerate(problem.ops))
    for (auto [p, port] : llvm::enumerate(op.ports))
      if (port.tensor != ShardingProblem::kNone) {
        users[port.tensor].push_back(
            {static_cast<unsigned>(i), static_cast<unsigned>(p)});
        if (!port.isInput && port.isInKernel)
          inKernel[port.tensor] = true;
      }
  for (const ShardingProblem::Tensor &tensor : problem.tensors)
    shapes.push_back(prices.numberShape(tensor.shape, tensor.elementBytes));
}

/// Finds the live tensors where the whole program holds the most bytes: memory
/// is counted there. A tensor lives from its first op to its last, a stored one
/// all the time.
void ShardingNetwork::findLive() {
  size_t count = problem.ops.size();
  std::vector<int64_t> change(count + 1, 0);
  std::vector<std::pair<unsigned, unsigned>> spans;
  for (auto [t, tensor] : llvm::enumerate(problem.tensors)) {
    auto &[first, last] = spans.emplace_back(0, count);
    if (!tensor.isStored && !users[t].empty()) {
      first = users[t].front().op;
      last = users[t].back().op + 1;
    }
    int64_t bytes = tensor.elementBytes;
    for (int64_t size : tensor.shape)
      bytes *= size;
    change[first] += bytes;
    change[last] -= bytes;
  }
  int64_t held = 0, most = -1;
  unsigned peak = 0;
  for (unsigned op = 0; op < count; ++op) {
    held += change[op];
    if (held > most) {
      most = held;
      peak = op;
    }
  }
  live.resize(problem.tensors.size());
  for (auto [t, span] : llvm::enumerate(spans))
    live[t] = span.first <= peak && peak < span.second;
}

/// True if a tensor needs a variable: it is more than an edge between two ops.
bool ShardingNetwork::hasVariable(unsigned tensor) const {
  const ShardingProblem::Tensor &t = problem.tensors[tensor];
  ArrayRef<User> at = users[tensor];
  bool isSeeded = !t.seed.replicated.empty() || !t.seed.unreduced.empty() ||
                  llvm::any_of(t.seed.dims, [](const DimSharding &dim) {
                    return !dim.open || !dim.axes.empty();
                  });
  return t.isStored || isSeeded || at.size() != 2 || at[0].op == at[1].op ||
         getPort(at[0]).isInput == getPort(at[1]).isInput ||
         getPort(at[0]).isFixed || getPort(at[1]).isFixed;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True if all of these operands come from ops that may leave them partial, and
/// no other operand is a sum that may be partial: the program could not express
/// which of them stay partial.
bool ShardingNetwork::mayBePartial(unsigned op,
                                   const llvm::SmallBitVector &operands) const {
  return llvm::all_of(
      problem.ops[op].ports, [&](const ShardingProblem::Port &port) {
        if (!port.isOperand)
          return true;
        bool mayBe = port.tensor != ShardingProblem::kNone &&
                     partialTensors.test(port.tensor);
        return operands.test(port.index) ? mayBe
                                         : !mayBe || !own.test(port.tensor);
      });
}

/// Ops of one kind with the same possibly partial operands share one list.
const ShardingNetwork::StateList &ShardingNetwork::getStates(unsigned op) {
  const ShardingProblem::Op &mine = problem.ops[op];
  OpChoices choices = mine.choices;
  choices.units = options.units;
  llvm::erase_if(choices.linear, [&](const llvm::SmallBitVector &operands) {
    return !mayBePartial(op, operands);
  });
  std::vector<int64_t> key{mine.kind};
  for (const llvm::SmallBitVector &operands : choices.linear) {
    for (unsigned operand : operands.set_bits())
      key.push_back(operand);
    key.push_back(-1);
  }
  auto [it, isNew] = listNumbers.try_emplace(key, lists.size());
  listOf[op] = it->second;
  if (!isNew)
    return lists[it->second];
  StateList &list = lists.emplace_back();
  list.ports.resize(mine.ports.size());
  for (RunState &state : getOpStates(problem.rules[mine.rule], choices)) {
    int64_t cost = pricer(op, state);
    if (cost >= kInfinite)
      continue;
    for (auto [port, numbers] : llvm::zip(mine.ports, list.ports))
      numbers.push_back(
          port.tensor == ShardingProblem::kNone
              ? 0
              : prices.number(problem.getPortSharding(mine, port, state)));
    list.costs.push_back(cost);
    list.states.push_back(std::move(state));
  }
  return list;
}

static int64_t getBytePrice(const NetworkOptions &options, int64_t bytes) {
  return static_cast<int64_t>(options.bytePrice * static_cast<double>(bytes));
}

std::vector<int64_t> ShardingNetwork::getOpCosts(unsigned op) const {
  std::vector<int64_t> costs;
  for (auto [state, cost] : llvm::enumerate(lists[listOf[op]].costs))
    costs.push_back(cost * problem.ops[op].trips +
                    getBytePrice(options, getStateBytes(op, state)));
  return costs;
}

Error ShardingNetwork::addOp(unsigned op) {
  if (lists[listOf[op]].states.empty())
    return createStringError("op " + Twine(op) +
                             ": expects a way to run with the axes that its "
                             "factors have but got none");
  variableOfOp[op] = network.addVariable(getOpCosts(op));
  subjects.push_back(op);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// True if a seed allows a sharding.
static bool fitsSeed(const Sharding &seed, const Sharding &sharding) {
  for (auto [wanted, got] : llvm::zip(seed.dims, sharding.dims))
    if (wanted.open ? !isPrefix(wanted.axes, got.axes)
                    : wanted.axes != got.axes)
      return false;
  return seed.unreduced.empty()
             ? !overlapsAny(sharding.dimAxes(), seed.replicated)
             : sharding.unreduced == seed.unreduced;
}

static Sharding close(Sharding seed) {
  seed.replicated.clear();
  for (DimSharding &dim : seed.dims) {
    dim.open = false;
    dim.priority.reset();
  }
  return seed;
}

/// True if a sharding divides the dimensions that some op cannot pad.
static bool dividesExactly(const ShardingProblem::Tensor &tensor,
                           const Sharding &sharding) {
  return llvm::all_of(tensor.exactDims.set_bits(), [&](unsigned dim) {
    return tensor.shape[dim] % numShards(sharding.dims[dim].axes) == 0;
  });
}

/// The shardings that the ops at a tensor make or need. A partial one is
/// allowed only for a sum over micro-batches, or if the seed has it.
std::vector<unsigned> ShardingNetwork::getCandidates(unsigned tensor) {
  const ShardingProblem::Tensor &mine = problem.tensors[tensor];
  std::vector<unsigned> candidates;
  auto offer = [&](unsigned number) {
    const Sharding &sharding = prices.getSharding(number);
    bool mayBe = sharding.unreduced.empty() || (mine.isSum && !mine.isStored) ||
                 !mine.seed.unreduced.empty();
    if (mayBe && dividesExactly(mine, sharding) &&
        fitsSeed(mine.seed, sharding) &&
        !llvm::is_contained(candidates, number))
      candidates.push_back(number);
  };
  candidates.push_back(prices.number(close(mine.seed)));
  for (User user : users[tensor]) {
    std::vector<unsigned> numbers = lists[listOf[user.op]].ports[user.port];
    llvm::sort(numbers);
    numbers.erase(llvm::unique(numbers), numbers.end());
    llvm::for_each(numbers, offer);
  }
  return candidates;
}

/// True if `some` is `all` without some of its axes.
static bool hasFewerAxes(const Sharding &some, const Sharding &all) {
  for (auto [a, b] : llvm::zip(some.dims, all.dims)) {
    size_t at = 0;
    for (const AxisRef &axis : b.axes)
      if (at < a.axes.size() && a.axes[at] == axis)
        ++at;
    if (at != a.axes.size())
      return false;
  }
  return true;
}

/// Adds states with a second sharding: a stored tensor may be gathered once for
/// several uses, a partial sum may be reduced once.
void ShardingNetwork::addSeconds(unsigned tensor, std::vector<End> &all) {
  const ShardingProblem::Tensor &mine = problem.tensors[tensor];
  size_t numInputs = llvm::count_if(
      users[tensor], [&](User user) { return getPort(user).isInput; });
  if (numInputs < 2 || (!mine.isArgument && !mine.isSum))
    return;
  size_t numCandidates = all.size();
  for (size_t i = 0; i < numCandidates; ++i)
    for (size_t j = 0; j < numCandidates; ++j) {
      const Sharding &first = prices.getSharding(all[i].sharding);
      const Sharding &second = prices.getSharding(all[j].sharding);
      if (i != j && second.unreduced.empty() &&
          (first.unreduced.empty() ? hasFewerAxes(second, first)
                                   : hasFewerAxes(first, second)))
        all.push_back({all[i].sharding, all[j].sharding});
    }
}

std::vector<ShardingNetwork::End> ShardingNetwork::makeEnds(unsigned tensor) {
  std::vector<End> all;
  for (unsigned candidate : getCandidates(tensor))
    all.push_back({candidate});
  addSeconds(tensor, all);
  return all;
}

/// The number of a tensor's list of states.
unsigned ShardingNetwork::numberEnds(unsigned tensor) {
  std::vector<int64_t> key = describeTensor(problem.tensors[tensor]);
  for (User user : users[tensor])
    key.insert(key.end(), {listOf[user.op], user.port, getPort(user).isInput});
  auto [it, isNew] = endNumbers.try_emplace(std::move(key), endLists.size());
  if (isNew)
    endLists.push_back(makeEnds(tensor));
  return it->second;
}

int64_t ShardingNetwork::getMostTrips(unsigned tensor) const {
  int64_t trips = 1;
  for (User user : users[tensor])
    if (getPort(user).isInput)
      trips = std::max(trips, problem.ops[user.op].trips);
  return trips;
}

int64_t ShardingNetwork::getLocalBytes(unsigned tensor,
                                       unsigned sharding) const {
  const ShardingProblem::Tensor &mine = problem.tensors[tensor];
  int64_t bytes = mine.elementBytes;
  for (auto [size, dim] :
       llvm::zip(mine.shape, prices.getSharding(sharding).dims))
    bytes *= llvm::divideCeil(size, numShards(dim.axes));
  return bytes;
}

/// The bytes of a tensor in a state that count as a device's memory.
int64_t ShardingNetwork::getEndBytes(unsigned tensor, const End &end) const {
  if (!live.test(tensor))
    return 0;
  int64_t bytes = getLocalBytes(tensor, end.sharding);
  if (end.second != ShardingProblem::kNone)
    bytes += getLocalBytes(tensor, end.second);
  return bytes;
}

/// The same for the values without a variable that an op uses.
int64_t ShardingNetwork::getStateBytes(unsigned op, unsigned state) const {
  int64_t bytes = 0;
  for (auto [port, numbers] :
       llvm::zip(problem.ops[op].ports, lists[listOf[op]].ports))
    if (port.tensor != ShardingProblem::kNone && port.isInput &&
        !own.test(port.tensor) && live.test(port.tensor))
      bytes += getLocalBytes(port.tensor, numbers[state]);
  return bytes;
}

/// The cost of the reshard that uses share.
int64_t ShardingNetwork::getSecondCost(unsigned tensor, const End &end) {
  if (end.second == ShardingProblem::kNone)
    return 0;
  int64_t price = prices.getPrice(end.sharding, end.second, shapes[tensor]);
  if (inKernel[tensor])
    price = search::addCosts(price, prices.getKernelFloor());
  return search::scaleCost(price, getMostTrips(tensor));
}

int64_t ShardingNetwork::getEndCost(unsigned tensor, const End &end) {
  return search::addCosts(countHidden(getSecondCost(tensor, end)),
                          getBytePrice(options, getEndBytes(tensor, end)));
}

Error ShardingNetwork::addTensor(unsigned tensor) {
  endsOf[tensor] = numberEnds(tensor);
  if (getEnds(tensor).empty())
    return createStringError("tensor " + Twine(tensor) +
                             ": expects a sharding that its seed and the ops "
                             "at it allow but got none");
  std::vector<int64_t> costs;
  for (const End &end : getEnds(tensor))
    costs.push_back(getEndCost(tensor, end));
  variableOfTensor[tensor] = network.addVariable(std::move(costs));
  subjects.push_back(problem.ops.size() + tensor);
  return Error::success();
}

/// A tensor's variable comes right after its first op.
Error ShardingNetwork::build() {
  findUsers();
  endsOf.assign(problem.tensors.size(), ShardingProblem::kNone);
  variableOfTensor.assign(problem.tensors.size(), ShardingProblem::kNone);
  variableOfOp.assign(problem.ops.size(), ShardingProblem::kNone);
  listOf.assign(problem.ops.size(), 0);
  partialTensors.resize(problem.tensors.size());
  own.resize(problem.tensors.size());
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (!users[t].empty() && hasVariable(t))
      own.set(t);
  findLive();
  // Gets the states of all ops first: producers determine which tensors may be
  // partial.
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    getStates(op);
    for (auto [port, numbers] :
         llvm::zip(problem.ops[op].ports, lists[listOf[op]].ports))
      if (!port.isInput && port.tensor != ShardingProblem::kNone &&
          (!own.test(port.tensor) || problem.tensors[port.tensor].isSum) &&
          llvm::any_of(numbers, [&](unsigned number) {
            return !prices.getSharding(number).unreduced.empty();
          }))
        partialTensors.set(port.tensor);
  }
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    if (Error error = addOp(op))
      return error;
    for (const ShardingProblem::Port &port : problem.ops[op].ports)
      if (port.tensor != ShardingProblem::kNone && own.test(port.tensor) &&
          variableOfTensor[port.tensor] == ShardingProblem::kNone)
        if (Error error = addTensor(port.tensor))
          return error;
    addEdges(op);
  }
  return network.check();
}

std::unique_ptr<ShardingNetwork>
ShardingNetwork::copyWith(const NetworkOptions &other) const {
  auto copy = std::make_unique<ShardingNetwork>(*this);
  copy->options = other;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    copy->network.variables[variableOfOp[op]].costs = copy->getOpCosts(op);
  copy->refresh();
  return copy;
}

ShardingSolution ShardingNetwork::getSolution(ArrayRef<unsigned> states) const {
  ShardingSolution solution;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    solution.ops.push_back(lists[listOf[op]].states[states[variableOfOp[op]]]);
  for (auto [t, tensor] : llvm::enumerate(problem.tensors)) {
    Sharding sharding = close(tensor.seed);
    if (variableOfTensor[t] != ShardingProblem::kNone) {
      sharding =
          prices.getSharding(getEnds(t)[states[variableOfTensor[t]]].sharding);
    } else {
      // Takes the sharding that its single user needs.
      for (User user : users[t])
        if (getPort(user).isInput || users[t].size() == 1)
          sharding = prices.getSharding(
              getPortSharding(user, states[variableOfOp[user.op]]));
    }
    solution.tensors.push_back(std::move(sharding));
  }
  markApart(states, solution);
  solution.cost = network.evaluate(states);
  return solution;
}

/// Marks arguments that several ops need in the same sharding without sharing
/// it as a second one: each op has its own move, whose result is not kept for
/// the next op.
void ShardingNetwork::markApart(ArrayRef<unsigned> states,
                                ShardingSolution &solution) const {
  solution.apart.resize(problem.ops.size());
  for (auto [t, tensor] : llvm::enumerate(problem.tensors)) {
    if (!tensor.isArgument || variableOfTensor[t] == ShardingProblem::kNone)
      continue;
    const End &end = getEnds(t)[states[variableOfTensor[t]]];
    std::map<unsigned, std::vector<User>> movedTo;
    for (User user : users[t]) {
      unsigned needed = getPortSharding(user, states[variableOfOp[user.op]]);
      if (getPort(user).isInput && needed != end.sharding &&
          needed != end.second)
        movedTo[needed].push_back(user);
    }
    for (const auto &[needed, movers] : movedTo)
      if (movers.size() > 1)
        for (User user : movers)
          solution.apart[user.op].push_back(getPort(user).index);
  }
}

std::vector<unsigned>
ShardingNetwork::translate(const ShardingNetwork &from,
                           ArrayRef<unsigned> states) const {
  std::vector<unsigned> mine(network.variables.size(), 0);
  auto find = [](const auto &list, const auto &wanted, unsigned &state) {
    auto it = llvm::find(list, wanted);
    state = it - list.begin();
    return it != list.end();
  };
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    if (!find(lists[listOf[op]].states,
              from.lists[from.listOf[op]].states[states[from.variableOfOp[op]]],
              mine[variableOfOp[op]]))
      return {};
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (variableOfTensor[t] != ShardingProblem::kNone &&
        !find(getEnds(t), from.getEnds(t)[states[from.variableOfTensor[t]]],
              mine[variableOfTensor[t]]))
      return {};
  return mine;
}

std::vector<unsigned>
ShardingNetwork::getTies(const RepeatedBlocks &blocks) const {
  std::vector<unsigned> ties(network.variables.size());
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    unsigned first = blocks.ops[op];
    ties[variableOfOp[op]] =
        variableOfOp[listOf[first] == listOf[op] ? first : op];
  }
  for (unsigned t = 0; t < problem.tensors.size(); ++t) {
    unsigned first = blocks.tensors[t], variable = variableOfTensor[t];
    if (variable != ShardingProblem::kNone)
      ties[variable] =
          endsOf[first] == endsOf[t] || getEnds(first) == getEnds(t)
              ? variableOfTensor[first]
              : variable;
  }
  // Tensors are not numbered in the order of variables.
  std::vector<unsigned> first(ties.size(), ShardingProblem::kNone);
  for (auto [variable, tie] : llvm::enumerate(ties))
    tie = first[tie] = std::min<unsigned>(first[tie], variable);
  return ties;
}

bool ShardingNetwork::runsAlike(unsigned op, unsigned state,
                                unsigned other) const {
  RunState a = lists[listOf[op]].states[state];
  RunState b = lists[listOf[op]].states[other];
  for (RunState *run : {&a, &b})
    for (AxisList &axes : run->axes)
      llvm::sort(axes);
  return a == b;
}

/// A tensor has the layer of its first op.
std::vector<int>
ShardingNetwork::getLayers(const RepeatedBlocks &blocks) const {
  std::vector<int> layers;
  for (unsigned subject : subjects)
    layers.push_back(
        blocks.layers[subject < problem.ops.size()
                          ? subject
                          : users[subject - problem.ops.size()].front().op]);
  return layers;
}

int64_t ShardingNetwork::getLiveBytes(ArrayRef<unsigned> states) const {
  int64_t bytes = 0;
  for (unsigned t = 0; t < problem.tensors.size(); ++t)
    if (variableOfTensor[t] != ShardingProblem::kNone)
      bytes += getEndBytes(t, getEnds(t)[states[variableOfTensor[t]]]);
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    bytes += getStateBytes(op, states[variableOfOp[op]]);
  return bytes;
}
