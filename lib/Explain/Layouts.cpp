//===- Layouts.cpp - Explains the grid, the roofline and strategies -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the planner's section of a plan, and plans that it prices. Sizes
// without a model have the axes of the plan and the matmuls of a block.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cost/ComputeModel.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Planning/DeviceFigures.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;
using llvm::StringRef;

/// The plan of the grid: what tp and pp leave of the devices is dp.
static llvm::Expected<ExecutedPlan> gridPlan(const ExplainSizes &sizes) {
  ExecutedPlan plan = sizes.plan;
  int64_t ranks = sizes.ranks.value_or(64);
  if (ranks % (plan.tp * plan.pp))
    return llvm::createStringError(
        formatv("--ranks: expects a multiple of tp x pp = {0} x {1} but got "
                "{2}",
                plan.tp, plan.pp, ranks)
            .str());
  plan.dp = ranks / (plan.tp * plan.pp);
  plan.microBatches = sizes.microBatches.value_or(8);
  plan.zero = 1;
  if (llvm::Error error = sizes.cluster.checkSize(ranks))
    return std::move(error);
  return plan;
}

/// A table of the planner's section; empty if the section has none.
static Table tableOf(const DocumentSection &section, StringRef name) {
  const Table *table = section.find(name);
  return table ? *table : Table();
}

/// The link of each axis, by the sizes of tp and pp, and the time of one
/// collective of it.
static Table linkTable(const ExplainSizes &sizes, int64_t ranks) {
  Table table({{"tp", "", 0},
               {"pp", "", 0},
               "axis",
               {"devices", "", 0},
               "link",
               "collective",
               {"ms", "ms", 2}});
  DeviceModel device = makeDeviceModel(sizes.cluster.device);
  for (int64_t tp : listDoubles(1, 16, sizes.plan.tp))
    for (int64_t pp : listDoubles(1, 16, sizes.plan.pp)) {
      if (ranks % (tp * pp))
        continue;
      ExecutedPlan plan = sizes.plan;
      plan.tp = tp;
      plan.pp = pp;
      plan.dp = ranks / (tp * pp);
      Machine machine(sizes.cluster, device, plan, plan.execution());
      for (auto [axis, count] :
           {std::pair(PlanAxis::DP, plan.dp), std::pair(PlanAxis::TP, tp),
            std::pair(PlanAxis::PP, pp)}) {
        auto kind = axis == PlanAxis::PP ? CollectiveKind::Permute
                                         : CollectiveKind::AllReduce;
        std::string link = nameLink(machine, sizes.cluster, axis);
        table.addRow(
            {tp, pp, stringify(axis), count, link.empty() ? "none" : link,
             stringifyCollective(kind).str(),
             getTensorCollectiveTime(kind, sizes.bytes, machine.spans(axis)) *
                 1e3});
      }
    }
  return table;
}

namespace {
/// The tables of a grid of devices.
struct GridTables {
  /// The axes, what a device receives over each level of the cluster, and bytes
  /// by collective; the last two are empty without a whole model.
  Table axes, links, received;
};
} // namespace

/// The levels of the cluster.
static Table levelTable(const ClusterSpec &cluster) {
  Table table({"link", {"devices of a group", "", 0}, {"GB/s", "GB/s", 1}});
  for (const LevelSpec &level : cluster.levels)
    table.addRow({level.name, level.devices, level.bandwidth.value / 1e9});
  return table;
}

static llvm::Expected<GridTables> gridTables(const ExplainSizes &sizes,
                                             const ExecutedPlan &plan) {
  GridTables tables;
  if (sizes.model.isWhole) {
    auto section = Planner(sizes).section(plan);
    if (!section)
      return section.takeError();
    tables.axes = tableOf(*section, "axes");
    tables.links = tableOf(*section, "links");
    tables.received = tableOf(*section, "received");
    return tables;
  }
  Machine machine(sizes.cluster, plan, plan.execution());
  tables.axes = makeAxisTable(machine, sizes.cluster, plan);
  return tables;
}

/// The tables of all sizes of tp and pp that a page offers. Fails where the
/// asked ones do; others are left out.
static llvm::Expected<GridTables> listGrids(const ExplainSizes &sizes) {
  std::vector<Table::Column> choices{{"tp", "", 0}, {"pp", "", 0}};
  ChoiceTable axes(choices), links(choices), received(choices);
  ExplainSizes each = sizes;
  for (int64_t tp : listDoubles(1, 16, sizes.plan.tp))
    for (int64_t pp : listDoubles(1, 16, sizes.plan.pp)) {
      each.plan.tp = tp;
      each.plan.pp = pp;
      bool isAsked = tp == sizes.plan.tp && pp == sizes.plan.pp;
      auto plan = gridPlan(each);
      auto tables = plan ? gridTables(each, *plan) : plan.takeError();
      if (!tables && isAsked)
        return tables.takeError();
      if (!tables) {
        llvm::consumeError(tables.takeError());
        continue;
      }
      axes.add({tp, pp}, tables->axes);
      links.add({tp, pp}, tables->links);
      received.add({tp, pp}, tables->received);
    }
  return GridTables{std::move(axes).finish(), std::move(links).finish(),
                    std::move(received).finish()};
}

Section tessera::explain::explainGrid(const ExplainSizes &sizes) {
  auto plan = gridPlan(sizes);
  if (!plan)
    return plan.takeError();
  auto tables = listGrids(sizes);
  if (!tables)
    return tables.takeError();
  Machine machine(sizes.cluster, *plan, plan->execution());
  std::string links =
      describeAxes(makeAxisTable(machine, sizes.cluster, *plan), sizes.cluster);
  Explanation text("grid",
                   formatv("{0} devices are dp={1} x tp={2} x pp={3}{4}",
                           plan->gpus(), plan->dp, plan->tp, plan->pp,
                           links.empty() ? "" : ": " + links));
  std::vector<std::string> asked{std::to_string(plan->tp),
                                 std::to_string(plan->pp)};
  text.add({"axes", "devices", "The groups of a device, and their links",
            "Devices are numbered row-major: pp outermost, tp innermost, so "
            "that the axis that sends most has the fastest link.",
            std::move(tables->axes), asked});
  text.add({"axes and links", "table",
            "Axes that leave a node wait for slower links",
            formatv("A collective of {0:f2} GB over each axis of {1} devices.",
                    sizes.bytes / kGB, plan->gpus()),
            linkTable(sizes, plan->gpus()), asked});
  if (sizes.model.isWhole)
    text.add({"links", "table", "What a device receives over each link", "",
              std::move(tables->links), asked});
  else
    text.add({"links", "table", "The links of the cluster", "",
              levelTable(sizes.cluster)});
  text.addTable("received", std::move(tables->received));
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// roofline
//===----------------------------------------------------------------------===//

/// The matmuls of a block of this width, forward: q, k and v, the projection of
/// their result, and an MLP of four times the width, each split over tp.
static Table blockMatmuls(const ExplainSizes &sizes) {
  int64_t tokens = sizes.plan.microBatch * sizes.plan.seq;
  int64_t d = sizes.model.hidden, tp = sizes.plan.tp;
  DType type = unitsOf(sizes.plan.precision);
  std::vector<OpWork> ops;
  for (MatmulDims dims :
       {MatmulDims{1, tokens, 3 * d / tp, d}, MatmulDims{1, tokens, d, d / tp},
        MatmulDims{1, tokens, 4 * d / tp, d},
        MatmulDims{1, tokens, d, 4 * d / tp}}) {
    OpWork op = makeMatmulOp(dims, type);
    // Results have at least 16 bits.
    op.bytesWritten *= std::max(1.0, 2 / double(byteWidth(type)));
    ops.push_back(std::move(op));
  }
  return makeKernelTable(makeDeviceModel(sizes.cluster.device), ops);
}

namespace {
/// The tables of a roofline; those of the step are empty without a whole model.
struct RooflineTables {
  Table kernels, ceilings, steps, links;
};
} // namespace

static llvm::Expected<RooflineTables>
rooflineTables(const ExplainSizes &sizes) {
  RooflineTables tables;
  if (sizes.model.isWhole) {
    auto plan = gridPlan(sizes);
    if (!plan)
      return plan.takeError();
    auto section = Planner(sizes).section(*plan);
    if (!section)
      return section.takeError();
    tables.kernels = tableOf(*section, "kernels");
    tables.ceilings = tableOf(*section, "ceilings");
    tables.steps = tableOf(*section, "step points");
    tables.links = tableOf(*section, "links");
    return tables;
  }
  if (llvm::Error error = checkColumns(sizes))
    return std::move(error);
  DeviceModel device = makeDeviceModel(sizes.cluster.device);
  DType type = unitsOf(sizes.plan.precision);
  tables.kernels = blockMatmuls(sizes);
  tables.ceilings = makeCeilingTable(stringify(device.unitType(type)),
                                     device.peak(type), device.memoryBandwidth);
  return tables;
}

/// The tables of all sizes of tp and of the micro-batch that a page offers.
/// Fails where the asked ones do; others are left out.
static llvm::Expected<RooflineTables> listRooflines(const ExplainSizes &sizes) {
  std::vector<Table::Column> choices{{"tp", "", 0}, {"micro-batch", "", 0}};
  ChoiceTable kernels(choices), ceilings(choices), steps(choices),
      links(choices);
  ExplainSizes each = sizes;
  for (int64_t tp : listDoubles(1, 16, sizes.plan.tp))
    for (int64_t batch : listDoubles(1, 8, sizes.plan.microBatch)) {
      each.plan.tp = tp;
      each.plan.microBatch = batch;
      bool isAsked = tp == sizes.plan.tp && batch == sizes.plan.microBatch;
      auto tables = rooflineTables(each);
      if (!tables && isAsked)
        return tables.takeError();
      if (!tables) {
        llvm::consumeError(tables.takeError());
        continue;
      }
      kernels.add({tp, batch}, tables->kernels);
      ceilings.add({tp, batch}, tables->ceilings);
      steps.add({tp, batch}, tables->steps);
      links.add({tp, batch}, tables->links);
    }
  return RooflineTables{std::move(kernels).finish(),
                        std::move(ceilings).finish(), std::move(steps).finish(),
                        std::move(links).finish()};
}

Section tessera::explain::explainRoofline(const ExplainSizes &sizes) {
  auto tables = listRooflines(sizes);
  if (!tables)
    return tables.takeError();
  const DeviceSpec &device = sizes.cluster.device;
  double ridge = peakOf(sizes) / device.memoryBandwidth.value;
  Explanation text(
      "roofline",
      formatv("Below {0:f0} FLOPs for each byte of memory, a kernel on {1} "
              "waits for memory",
              ridge, device.name));
  text.add(
      {"kernels",
       "roofline",
       "Kernels of a block below their ceilings",
       "",
       std::move(tables->kernels),
       {std::to_string(sizes.plan.tp), std::to_string(sizes.plan.microBatch)}});
  text.addTable("ceilings", std::move(tables->ceilings));
  text.addTable("step points", std::move(tables->steps));
  text.addTable("links", std::move(tables->links));
  text.say("Three ceilings: the peak of arithmetic, the bandwidth of memory "
           "and the bandwidth of a link. A kernel has its FLOPs for each byte "
           "of memory, a step its FLOPs for each byte that a link carries.");
  if (!sizes.model.isWhole)
    text.say("Sizes without a model have the matmuls of a block, whose MLP has "
             "four times the hidden size. Other kernels and the step need "
             "--model.");
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// strategies
//===----------------------------------------------------------------------===//

namespace {
struct StrategyRow {
  const char *name, *splits, *property, *memory, *messages, *link;
};

/// A plan to try, in the order of how much it changes.
struct Candidate {
  const char *name;
  void (*set)(ExecutedPlan &plan, int64_t node);
};
} // namespace

static constexpr StrategyRow kStrategies[] = {
    {"dp", "the batch", "a sum of gradients may be taken in any order",
     "all state on each device", "all-reduce of gradients, once a step",
     "between nodes"},
    {"zero=1, 2", "optimizer state, gradients",
     "the update of a parameter needs its own state alone",
     "parameters and 1/n of the rest", "reduce-scatter and all-gather",
     "between nodes"},
    {"zero=3 (fsdp)", "parameters too", "a layer is needed only while it runs",
     "1/n, and one whole layer",
     "all-gather forward and backward, reduce-scatter", "between nodes"},
    {"tp", "matrices of a layer, by columns, then rows",
     "columns of a matmul do not depend on each other, and rows add up",
     "1/n of the layer, whole inputs",
     "all-reduce of activations, twice a layer and pass", "in a node"},
    {"sp", "tokens between matmuls, over tp",
     "norms and elementwise ops work token by token",
     "1/n of these activations", "all-gather and reduce-scatter, as tp's bytes",
     "in a node"},
    {"pp", "layers", "a layer needs the one before it alone",
     "1/n of the layers, several micro-batches",
     "activations at stage boundaries", "between nodes"},
    {"cp", "tokens of a sequence, attention too",
     "softmax can be corrected when further keys arrive",
     "1/n of the activations", "keys and values, each layer", "either"},
    {"ep", "experts", "a token needs its own experts alone",
     "1/n of the experts", "all-to-all of tokens, twice a layer and pass",
     "either"},
};

static constexpr Candidate kCandidates[] = {
    {"dp", [](ExecutedPlan &, int64_t) {}},
    {"dp, zero=1", [](ExecutedPlan &plan, int64_t) { plan.zero = 1; }},
    {"dp, zero=2", [](ExecutedPlan &plan, int64_t) { plan.zero = 2; }},
    {"dp, zero=3", [](ExecutedPlan &plan, int64_t) { plan.zero = 3; }},
    {"dp, zero=3, recompute=full",
     [](ExecutedPlan &plan, int64_t) {
       plan.zero = 3;
       plan.recompute = Recompute::Full;
     }},
    {"dp, tp of a node, sp, zero=1",
     [](ExecutedPlan &plan, int64_t node) {
       plan.tp = node;
       plan.sp = node > 1;
       plan.zero = 1;
     }},
    {"dp, tp of a node, sp, pp=2, zero=1",
     [](ExecutedPlan &plan, int64_t node) {
       plan.tp = node;
       plan.sp = node > 1;
       plan.pp = 2;
       plan.zero = 1;
     }},
    {"dp, tp of a node, sp, pp=4, zero=1",
     [](ExecutedPlan &plan, int64_t node) {
       plan.tp = node;
       plan.sp = node > 1;
       plan.pp = 4;
       plan.zero = 1;
     }},
    {"dp, tp of a node, sp, pp=8, zero=1, recompute=full",
     [](ExecutedPlan &plan, int64_t node) {
       plan.tp = node;
       plan.sp = node > 1;
       plan.pp = 8;
       plan.zero = 1;
       plan.recompute = Recompute::Full;
     }},
};

static Table strategyTable() {
  Table table({"strategy", "splits", "is exact, since", "memory of a device",
               "messages", "link"});
  for (size_t column = 1; column < 6; ++column)
    table.alignLeft(column);
  for (const StrategyRow &row : kStrategies)
    table.addRow({row.name, row.splits, row.property, row.memory, row.messages,
                  row.link});
  return table;
}

/// The plan of a candidate on some devices, with two micro-batches of work for
/// each device; none if the devices do not suit it.
static std::optional<ExecutedPlan> makeCandidate(const Planner &planner,
                                                 const ExplainSizes &sizes,
                                                 const Candidate &candidate,
                                                 int64_t ranks) {
  ExecutedPlan plan = planner.makePlan(ranks);
  candidate.set(plan, std::min(ranks, sizes.cluster.innerDevices()));
  plan.dp = std::max<int64_t>(1, ranks / (plan.tp * plan.pp));
  if (plan.gpus() != ranks)
    return std::nullopt;
  plan.microBatches = 2 * plan.tp * plan.pp;
  return plan;
}

/// Prices all candidates by the number of devices; sets the first that fits on
/// `ranks` devices.
static Table candidateTable(const ExplainSizes &sizes, int64_t ranks,
                            std::string &least) {
  Table table({{"devices", "", 0},
               "layout",
               {"GB of the fullest stage", "GB", 1},
               "fits",
               {"ms of a step", "ms", 1}});
  Planner planner(sizes);
  for (int64_t count : listDoubles(8, 1024, ranks))
    for (const Candidate &candidate : kCandidates) {
      auto plan = makeCandidate(planner, sizes, candidate, count);
      if (!plan) {
        table.addRow({count, candidate.name, "", "no: other devices", ""});
        continue;
      }
      auto report = planner.report(*plan);
      if (!report) {
        std::string problem = llvm::toString(report.takeError());
        table.addRow({count, candidate.name, "",
                      "no: " + StringRef(problem).split('\n').first.str(), ""});
        continue;
      }
      table.addRow({count, candidate.name, report->peakMemory().total() / kGB,
                    report->fits() ? "yes" : "no", report->stepSeconds * 1e3});
      if (count == ranks && report->fits() && least.empty())
        least = candidate.name;
    }
  return table;
}

Section tessera::explain::explainStrategies(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(64);
  if (!sizes.model.isWhole) {
    Explanation text("strategies", "Eight ways to split a training step");
    text.add({"strategies", "table", "What each strategy splits", "",
              strategyTable()});
    return std::move(text).finish();
  }
  std::string least;
  Table table = candidateTable(sizes, ranks, least);
  Explanation text(
      "strategies",
      least.empty() ? formatv("None of these layouts fits {0} on {1} devices",
                              sizes.model.name, ranks)
                          .str()
                    : formatv("The least that fits {0} on {1} devices is {2}",
                              sizes.model.name, ranks, least)
                          .str());
  text.add({"strategies", "table", "What each strategy splits", "",
            strategyTable()});
  text.add({"the least that fits",
            "table",
            "Layouts from the least change to the most",
            formatv("The planner's memory and step of {0} on {1}, with two "
                    "micro-batches of work for each device.",
                    sizes.model.name, sizes.cluster.name),
            std::move(table),
            {std::to_string(ranks)}});
  return std::move(text).finish();
}
