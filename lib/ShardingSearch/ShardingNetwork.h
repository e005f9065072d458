//===- ShardingNetwork.h - A program as a cost network ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables are ops, whose states are the ways to run them, and tensors that
// are stored or have several users, whose states are shardings:
//
//     argument w --+                 w: [-,-]  [a,-]  [a,-] also as [-,-]  ...
//                  |                 matmul: m=a   n=a   k=a   nothing
//     x ------> matmul ------> gelu  gelu: i=a  j=a  nothing  partial over a
//
// A state costs the time of the op on its shards; an edge costs the reshard
// between what one end has and the other needs. A value with one use has no
// variable: the edge joins the two ops, and may carry partial values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_SHARDINGNETWORK_H
#define TESSERA_LIB_SHARDINGSEARCH_SHARDINGNETWORK_H

#include "RepeatedBlocks.h"
#include "ReshardPrices.h"
#include "tessera/Search/CostNetwork.h"
#include "tessera/ShardingSearch/ShardingSearch.h"
#include <functional>

namespace tessera {

/// Picoseconds of an op in a state, once; search::kInfinite if it cannot be.
using OpPricer = std::function<int64_t(unsigned op, const RunState &state)>;

/// What a search counts.
struct NetworkOptions {
  /// Axes that stay together.
  llvm::SmallVector<AxisList, 4> units;
  /// Hundredths of the time of a transfer beside kernels that count.
  int64_t hiddenPercent = 100;
  /// Picoseconds that a byte counts as which a device holds where the program
  /// holds most: a Lagrange multiplier of a limit on memory.
  double bytePrice = 0;
};

class ShardingNetwork {
public:
  /// All are kept by reference, but the options.
  ShardingNetwork(const ShardingProblem &problem, ReshardPrices &prices,
                  const OpPricer &pricer, NetworkOptions options)
      : problem(problem), prices(prices), pricer(pricer),
        options(std::move(options)) {}

  /// Builds `network`. An error names the tensor or op without a state.
  llvm::Error build();
  /// The same network with other options, of the same groups of axes. What was
  /// planned since this one was built counts.
  std::unique_ptr<ShardingNetwork> copyWith(const NetworkOptions &other) const;
  const NetworkOptions &getOptions() const { return options; }
  /// Plans the reshards of an assignment, which may raise costs of the network.
  void planReshards(llvm::ArrayRef<unsigned> states);
  ShardingSolution getSolution(llvm::ArrayRef<unsigned> states) const;
  /// What the time of an assignment is made of.
  SearchedTimes getTimes(llvm::ArrayRef<unsigned> states);
  /// Bytes on a device where the program, on one device, would hold most.
  int64_t getLiveBytes(llvm::ArrayRef<unsigned> states) const;

  /// The assignment of another network of the same problem and prices in this
  /// one; empty if this one does not have its states.
  std::vector<unsigned> translate(const ShardingNetwork &from,
                                  llvm::ArrayRef<unsigned> states) const;

  /// For each variable the first one that has its place in another layer and
  /// the same states; itself if there is none.
  std::vector<unsigned> getTies(const RepeatedBlocks &blocks) const;
  /// The variable of an op.
  unsigned getVariable(unsigned op) const { return variableOfOp[op]; }
  /// True if an op has the same axes on the same factors in two states, in any
  /// order.
  bool runsAlike(unsigned op, unsigned state, unsigned other) const;
  /// The layer of each variable.
  std::vector<int> getLayers(const RepeatedBlocks &blocks) const;

  search::CostNetwork network;
  /// The tensor or op of each variable: numbers of ops from 0, then tensors.
  std::vector<unsigned> subjects;

private:
  /// The states of ops of one kind.
  struct StateList {
    std::vector<RunState> states;
    std::vector<int64_t> costs;
    /// Of each port, of each state, the number of a sharding.
    std::vector<std::vector<unsigned>> ports;
  };
  /// A state of a tensor: its sharding, and another one that uses share.
  struct End {
    unsigned sharding, second = ~0u;
    bool operator==(const End &o) const {
      return sharding == o.sharding && second == o.second;
    }
    bool operator<(const End &o) const {
      return std::tie(sharding, second) < std::tie(o.sharding, o.second);
    }
  };
  /// A table by what it is about.
  struct TableSpec {
    std::vector<End> from;
    std::vector<unsigned> to;
    unsigned shape = 0;
    bool isFixed = false;
    llvm::SmallBitVector fixedDims;
    /// The transfer runs beside kernels.
    bool isHidden = false;
    /// A move makes two kernels of one.
    bool splitsKernel = false;
    /// A value is made partial where it is not: a seed says so.
    bool makesPartial = false;
    /// The columns are where the tensor comes from.
    bool isTransposed = false;
  };
  /// The port of an op at a tensor.
  struct User {
    unsigned op, port;
  };

  void findUsers();
  void markApart(llvm::ArrayRef<unsigned> states,
                 ShardingSolution &solution) const;
  void findLive();
  std::vector<int64_t> getOpCosts(unsigned op) const;
  llvm::Error addOp(unsigned op);
  llvm::Error addTensor(unsigned tensor);
  const StateList &getStates(unsigned op);
  bool hasVariable(unsigned tensor) const;
  bool mayBePartial(unsigned op, const llvm::SmallBitVector &operands) const;
  std::vector<unsigned> getCandidates(unsigned tensor);
  std::vector<End> makeEnds(unsigned tensor);
  unsigned numberEnds(unsigned tensor);
  llvm::ArrayRef<End> getEnds(unsigned tensor) const {
    return endLists[endsOf[tensor]];
  }
  void addSeconds(unsigned tensor, std::vector<End> &ends);
  void addEdges(unsigned op);
  void addTensorEdge(User user);
  void addOpEdge(User from, User to);
  /// An edge from one variable to another; `make` gives what it is about for
  /// the first edge with this key.
  template <typename Make>
  void addEdge(unsigned from, unsigned to, int64_t weight,
               std::vector<int64_t> key, Make make);
  search::CostNetwork::Edge makeEdge(llvm::ArrayRef<End> from,
                                     llvm::ArrayRef<unsigned> to,
                                     TableSpec spec);
  bool planAround(const TableSpec &spec, unsigned from, unsigned to);
  int64_t getPrice(const TableSpec &spec, const End &from, unsigned to);
  search::CostTable makeTable(const TableSpec &spec);
  int64_t getEndCost(unsigned tensor, const End &end);
  void refresh();
  bool isHidden(unsigned tensor, bool isInput) const;
  int64_t countHidden(int64_t cost) const {
    return cost >= search::kInfinite ? cost
                                     : cost * options.hiddenPercent / 100;
  }
  int64_t getSecondCost(unsigned tensor, const End &end);
  int64_t getLocalBytes(unsigned tensor, unsigned sharding) const;
  int64_t getEndBytes(unsigned tensor, const End &end) const;
  int64_t getStateBytes(unsigned op, unsigned state) const;
  int64_t getMostTrips(unsigned tensor) const;
  const ShardingProblem::Port &getPort(User user) const {
    return problem.ops[user.op].ports[user.port];
  }
  unsigned getPortSharding(User user, unsigned state) const {
    return lists[listOf[user.op]].ports[user.port][state];
  }

  const ShardingProblem &problem;
  ReshardPrices &prices;
  const OpPricer &pricer;
  NetworkOptions options;
  /// Of each tensor.
  std::vector<llvm::SmallVector<User, 4>> users;
  std::vector<unsigned> shapes;
  std::vector<unsigned> variableOfTensor, variableOfOp, listOf, endsOf;
  std::vector<StateList> lists;
  std::map<std::vector<int64_t>, unsigned> listNumbers;
  /// The states of tensors that are alike, at ports that are.
  std::vector<std::vector<End>> endLists;
  std::map<std::vector<int64_t>, unsigned> endNumbers;
  /// Tensors that may be partial between two ops, those with a variable, and
  /// those that live where the program holds most.
  /// Tensors whose maker shares a kernel with an op that uses them.
  std::vector<bool> inKernel;
  llvm::SmallBitVector partialTensors, own, live;
  std::vector<TableSpec> specs;
  std::map<std::vector<int64_t>, unsigned> tableNumbers;
  std::map<std::vector<uint32_t>, unsigned> classNumbers;
  /// Tables and classes of edges that are alike.
  std::map<std::vector<int64_t>, search::CostNetwork::Edge> edgesAlike;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_SHARDINGNETWORK_H
