//===- ShardingNetwork.h - A program as a cost network ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables are ops and tensors. States of an op are the ways to run it.
// Tensors that are stored or have several users have shardings as states:
//
//     argument w --+                 w: [-,-]  [a,-]  [a,-] also as [-,-]  ...
//                  |                 matmul: m=a   n=a   k=a   nothing
//     x ------> matmul ------> gelu  gelu: i=a  j=a  nothing  partial over a
//
// A state costs the time of the op on its shards. An edge costs the reshard
// from the sharding of one end to the one that the other needs. A value with
// one use has no variable: the edge joins the two ops, and may carry partial
// values.
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

/// Picoseconds of one run of an op in a state; search::kInfinite if it is
/// impossible.
using OpPricer = std::function<int64_t(unsigned op, const RunState &state)>;

/// Options of the cost model.
struct NetworkOptions {
  /// Axes that stay together.
  llvm::SmallVector<AxisList, 4> units;
  /// Percentage of the time of an overlapped transfer that counts.
  int64_t hiddenPercent = 100;
  /// Picoseconds per byte that a device holds where the program holds most: the
  /// Lagrange multiplier of a memory limit.
  double bytePrice = 0;
};

class ShardingNetwork {
public:
  /// Keeps references to all arguments except the options.
  ShardingNetwork(const ShardingProblem &problem, ReshardPrices &prices,
                  const OpPricer &pricer, NetworkOptions options)
      : problem(problem), prices(prices), pricer(pricer),
        options(std::move(options)) {}

  /// Builds `network`. The error names a tensor or op without a state.
  llvm::Error build();
  /// The same network with other options and the same groups of axes. Includes
  /// plans made since this one was built.
  std::unique_ptr<ShardingNetwork> copyWith(const NetworkOptions &other) const;
  const NetworkOptions &getOptions() const { return options; }
  /// Plans the reshards of an assignment, which may raise costs of the network.
  void planReshards(llvm::ArrayRef<unsigned> states);
  ShardingSolution getSolution(llvm::ArrayRef<unsigned> states) const;
  /// The components of an assignment's time.
  SearchedTimes getTimes(llvm::ArrayRef<unsigned> states);
  /// Bytes per device at the point where the unsharded program holds most.
  int64_t getLiveBytes(llvm::ArrayRef<unsigned> states) const;

  /// Converts an assignment of another network of the same problem and prices
  /// to this one; empty if this one lacks its states.
  std::vector<unsigned> translate(const ShardingNetwork &from,
                                  llvm::ArrayRef<unsigned> states) const;

  /// For each variable, the first one at the same position of another layer
  /// with the same states; itself if there is none.
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
    /// The number of a sharding, per port and state.
    std::vector<std::vector<unsigned>> ports;
  };
  /// A state of a tensor: its sharding, and a second one that uses share.
  struct End {
    unsigned sharding, second = ~0u;
    bool operator==(const End &o) const {
      return sharding == o.sharding && second == o.second;
    }
    bool operator<(const End &o) const {
      return std::tie(sharding, second) < std::tie(o.sharding, o.second);
    }
  };
  /// The specification of a table.
  struct TableSpec {
    std::vector<End> from;
    std::vector<unsigned> to;
    unsigned shape = 0;
    bool isFixed = false;
    llvm::SmallBitVector fixedDims;
    /// True if the transfer overlaps with kernels.
    bool isHidden = false;
    /// True if a move splits a kernel into two.
    bool splitsKernel = false;
    /// True if a seed makes a value partial that is not.
    bool makesPartial = false;
    /// True if the columns are the side that makes the tensor.
    bool isTransposed = false;
  };
  /// An op and its port that uses a tensor.
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
  /// Adds an edge from one variable to another; `make` returns the spec for the
  /// first edge with this key.
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
  /// The users of each tensor.
  std::vector<llvm::SmallVector<User, 4>> users;
  std::vector<unsigned> shapes;
  std::vector<unsigned> variableOfTensor, variableOfOp, listOf, endsOf;
  std::vector<StateList> lists;
  std::map<std::vector<int64_t>, unsigned> listNumbers;
  /// The states of similar tensors at similar ports.
  std::vector<std::vector<End>> endLists;
  std::map<std::vector<int64_t>, unsigned> endNumbers;
  /// Tensors that may be partial between two ops, tensors with a variable, and
  /// tensors that live where the program holds most.
  /// Tensors whose maker shares a kernel with a user.
  std::vector<bool> inKernel;
  llvm::SmallBitVector partialTensors, own, live;
  std::vector<TableSpec> specs;
  std::map<std::vector<int64_t>, unsigned> tableNumbers;
  std::map<std::vector<uint32_t>, unsigned> classNumbers;
  /// Tables and classes of similar edges.
  std::map<std::vector<int64_t>, search::CostNetwork::Edge> edgesAlike;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_SHARDINGNETWORK_H
