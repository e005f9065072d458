//===- Explain.cpp - tessera explain --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the sizes of an explanation. lib/Explain computes it.
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"
#include "PlanSearch.h"

#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Explain/Explain.h"
#include "tessera/Support/Errors.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace tessera;
using llvm::StringRef;

namespace {

const OptionSpec kOptions[] = {
    named("models", {"--model", "MODEL",
                     "the model: a file, or a name of share/models; default: "
                     "llama2-7b"}),
    {"--parameters", "N", "parameters, as 7e9, instead of the model's own"},
    {"--layers", "N", "layers, instead of the model's own"},
    {"--hidden", "N", "hidden size, instead of the model's own"},
    named("clusters", {"--cluster", "CLUSTER",
                       "the cluster: a file, or a name of share/clusters; "
                       "default: h100-sxm-ib"}),
    {"--ranks", "N", "devices; default: the topic's own number"},
    {"--tp", "N",
     "devices of tensor parallelism; default: 4, or what of it divides the "
     "heads"},
    {"--pp", "N", "pipeline stages; default: 4"},
    {"--micro-batch", "N", "sequences of a micro-batch; default: 1"},
    {"--micro-batches", "N",
     "micro-batches of a step; default: the topic's own number"},
    {"--seq", "N",
     "tokens of a sequence; default: 4096, or all of the model's"},
    choice("f32|bf16|f16|fp8|fp8-current|fp8-row|fp8-block|mxfp8|nvfp4",
           {"--precision", "TYPE",
            "type of parameters and activations, as of plan; default: bf16, or "
            "f16 where the device has no units for bf16"}),
    choice("f32|bf16", {"--grad-dtype", "TYPE",
                        "type of the sums of gradients; default: bf16"}),
    choice("adamw|adamw-no-master|adamw-8bit|sgd",
           {"--optimizer", "NAME", "the optimizer; default: adamw"}),
    {"--tokens", "N", "tokens of the whole run, as 2T; default: 2T"},
    {"--price", "X", "dollars per device and hour; default: 2"},
    {"--mfu", "X", "share of the peak that a run reaches; default: 0.4"},
    {"--bytes", "N", "bytes of a tensor that is sent; default: 4e9"},
    {"--json", "", "print JSON"},
    {"--html", "FILE",
     "write the explanation there as a page of figures with sliders, one file "
     "that opens in a browser without a network",
     /*isOutput=*/true},
    choice("auto|on|off|ascii",
           {"--picture", "WHEN",
            "draw figures as text too: auto, on a terminal that shows UTF-8, "
            "on, off, or ascii; default: auto"}),
    {"-o", "FILE", "write there (default: stdout)", /*isOutput=*/true},
};

const CommandSpec kCommand = {
    "explain",
    "[TOPIC] [options]",
    "Explains an idea of distributed training by the planner's own numbers.",
    "Without a topic, lists all topics. A topic is explained with a model, "
    "its\n"
    "sizes and a cluster, each of which an option sets. GB are 1e9 bytes.",
    kOptions,
    "  tessera explain\n"
    "  tessera explain memory --model llama3-70b\n"
    "  tessera explain zero --parameters 7e9 --ranks 64 --html zero.html"};

/// A size that an option sets: an integer, or a number above 0.
struct SizeOption {
  StringRef name;
  double most;
  bool isInteger;
  void (*set)(ExplainSizes &sizes, double value);
};

constexpr SizeOption kSizes[] = {
    {"--parameters", 1e14, false,
     [](ExplainSizes &s, double value) {
       s.model.parameters = s.model.active = value;
     }},
    {"--layers", 10000, true,
     [](ExplainSizes &s, double value) { s.model.layers = int64_t(value); }},
    {"--hidden", 1 << 20, true,
     [](ExplainSizes &s, double value) { s.model.hidden = int64_t(value); }},
    {"--ranks", 1 << 20, true,
     [](ExplainSizes &s, double value) { s.ranks = int64_t(value); }},
    {"--tp", 1024, true,
     [](ExplainSizes &s, double value) { s.plan.tp = int64_t(value); }},
    {"--pp", 1024, true,
     [](ExplainSizes &s, double value) { s.plan.pp = int64_t(value); }},
    {"--micro-batch", 65536, true,
     [](ExplainSizes &s, double value) { s.plan.microBatch = int64_t(value); }},
    {"--micro-batches", 65536, true,
     [](ExplainSizes &s, double value) { s.microBatches = int64_t(value); }},
    {"--seq", 1 << 24, true,
     [](ExplainSizes &s, double value) { s.plan.seq = int64_t(value); }},
    {"--tokens", 1e18, false,
     [](ExplainSizes &s, double value) { s.tokens = value; }},
    {"--price", 1e6, false,
     [](ExplainSizes &s, double value) { s.price = value; }},
    {"--mfu", 1, false, [](ExplainSizes &s, double value) { s.mfu = value; }},
    {"--bytes", 1e15, false,
     [](ExplainSizes &s, double value) { s.bytes = value; }},
};

/// Reads a size; none if it is not given.
llvm::Expected<std::optional<double>> readSize(const ParsedOptions &parsed,
                                               const SizeOption &size) {
  if (!parsed.has(size.name))
    return std::nullopt;
  auto fail = [&]() {
    return llvm::createStringError(
        size.name + " expects " +
        (size.isInteger ? "1 to " : "a number above 0 and at most ") +
        groupedText(size.most) + " but got '" + parsed.get(size.name) + "'");
  };
  int64_t integer;
  if (size.isInteger) {
    if (parsed.get(size.name).getAsInteger(10, integer) || integer < 1 ||
        double(integer) > size.most)
      return fail();
    return double(integer);
  }
  auto number = readNumber(parsed, size.name);
  if (!number) {
    llvm::consumeError(number.takeError());
    return fail();
  }
  if (*number > size.most)
    return fail();
  return *number;
}

/// The sizes of a plan that a topic has if no option sets them.
cost::ExecutedPlan makeDefaultPlan(const ExplainedModel &model,
                                   const DeviceSpec &device) {
  cost::ExecutedPlan plan;
  bool hasBF16 =
      !llvm::errorToBool(cost::checkPrecision(Precision::BF16, device));
  plan.precision = hasBF16 ? Precision::BF16 : Precision::F16;
  plan.gradDType = GradDType::BF16;
  plan.seq = std::min<int64_t>(4096, model.subject.maxPositions());
  plan.tp = std::gcd(int64_t(4), model.subject.heads());
  plan.pp = 4;
  return plan;
}

llvm::Expected<ExplainSizes> readSizes(const ParsedOptions &parsed) {
  ExplainSizes sizes;
  auto model = readExplainedModel(parsed.get("--model", "llama2-7b"));
  if (!model)
    return model.takeError();
  auto cluster = readCluster(parsed.get("--cluster", "h100-sxm-ib"));
  if (!cluster)
    return cluster.takeError();
  sizes.model = std::move(*model);
  sizes.cluster = std::move(*cluster);
  cost::GivenExecutedPlan given;
  given.plan = makeDefaultPlan(sizes.model, sizes.cluster.device);
  for (StringRef option : {"--precision", "--grad-dtype", "--optimizer"})
    if (parsed.has(option))
      if (llvm::Error error =
              given.set(option.drop_front(2), parsed.get(option)))
        return prefixError("--", std::move(error));
  sizes.plan = given.plan;
  for (const SizeOption &size : kSizes) {
    auto value = readSize(parsed, size);
    if (!value)
      return value.takeError();
    if (*value)
      size.set(sizes, **value);
  }
  if (parsed.has("--parameters") || parsed.has("--layers") ||
      parsed.has("--hidden")) {
    sizes.model.isWhole = false;
    sizes.model.name =
        llvm::formatv("a model of {0} layers of {1}", sizes.model.layers,
                      groupedText(double(sizes.model.hidden)));
  }
  return sizes;
}

llvm::Error listTopics(const ParsedOptions &parsed) {
  Table table({"topic", "explains"});
  table.alignLeft(1);
  for (const ExplainTopic &topic : getExplainTopics())
    table.addRow({topic.name.str(), topic.summary.str()});
  for (StringRef option : {"--json", "--html"})
    if (parsed.has(option))
      return llvm::createStringError(option + " expects a topic but got none; "
                                              "tessera explain lists them");
  return writeOutput(parsed.get("-o"),
                     [&](llvm::raw_ostream &os) { table.print(os); });
}

llvm::Error run(const ParsedOptions &parsed) {
  if (parsed.positional.empty())
    return listTopics(parsed);
  if (parsed.positional.size() > 1)
    return llvm::createStringError("expects one topic but got '" +
                                   parsed.positional[1] + "' too");
  auto sizes = readSizes(parsed);
  if (!sizes)
    return sizes.takeError();
  auto style = readPictureOption(parsed, parsed.get("-o"));
  if (!style)
    return style.takeError();
  auto section = explainTopic(parsed.positional[0], *sizes);
  if (!section)
    return section.takeError();
  Document document{section->title, parsed.commandLine, {*section}, {}};
  if (llvm::Error error = writePageOption(parsed, document))
    return error;
  return writeOutput(parsed.get("-o"), [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      return document.print(os);
    printExplanation(*section, os);
    if (*style)
      printPictures(*section, **style, os);
  });
}

} // namespace

const CommandSpec &tessera::getExplainSpec() { return kCommand; }

int tessera::runExplain(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  llvm::Expected<ParsedOptions> parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return reportError(kCommand.name, parsed.takeError());
  if (llvm::Error error = run(*parsed))
    return reportError(kCommand.name, std::move(error));
  return 0;
}
