//===- PlanOptions.cpp - Options of a plan --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"

#include "tessera/Cost/Frameworks.h"
#include "tessera/Plan/TrainerFlags.h"
#include "tessera/Report/Page.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Share.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <deque>

using namespace tessera;
using llvm::StringRef;

/// Options of all commands that partition programs.
static constexpr OptionSpec kPartitionOptions[] = {
    section(Section::Cluster),
    common("mesh, strategy and training as a plan says, in JSON",
           {"--plan", "FILE",
            "mesh, strategy and training as a plan says, in JSON as tessera "
            "plan --json writes it"}),
    common(
        "decide by the links and the device of a cluster",
        named("clusters",
              {"--cluster", "CLUSTER",
               "decide by the links and the device of a cluster, a file or a "
               "name, as of tessera plan --cluster; default: the program's own "
               "dist.links, or equal links"})),
    common("the shardings that such a file has, as seeds",
           {"--shardings", "FILE",
            "the shardings that such a file has, as seeds, on its mesh; "
            "without --strategy, with its strategy and plan, too"}),
    section(Section::Training),
    {"--forward", "",
     "leave a program with a loss as it is; by default its training step is "
     "built, from the options of this section and the optimizer's (of a "
     "forward program those of devices, micro-batches and stages)"},
    section(Section::Search),
    common("with --strategy auto: choose a mesh of N devices",
           {"--ranks", "N",
            "with --strategy auto and --cluster, without --mesh: the mesh of N "
            "devices of the cluster is chosen, too"}),
    common("with --strategy auto: memory of a device, as 80GB",
           {"--memory-limit", "BYTES",
            "with --strategy auto: what the arena of a device may have, as "
            "80GB or 450MB; default: no limit"}),
    {"--decisions-out", "FILE",
     "with --strategy auto: write what was decided, as JSON",
     /*isOutput=*/true},
    {"--decisions", "FILE", "with --strategy auto: take what such a file says"},
    {"--decisions-update", "FILE",
     "with --strategy auto: take what such a file says of ops that are as they "
     "were, search the others, and write the file anew",
     /*isOutput=*/true},
    {"--search-dump", "FILE",
     "with --strategy auto: write the cost network, in toulbar2's format",
     /*isOutput=*/true},
    section(Section::Checks),
    {"--verify-each", "",
     "verify the IR after each pass and not only after each phase; also by "
     "$TESSERA_VERIFY_EACH"},
};

static Section getSection(FieldSection section) {
  switch (section) {
  case FieldSection::Mesh:
    return Section::Mesh;
  case FieldSection::Training:
    return Section::Training;
  case FieldSection::Optimizer:
    return Section::Optimizer;
  case FieldSection::Execution:
    return Section::Execution;
  case FieldSection::Kernels:
    return Section::Kernels;
  }
  llvm_unreachable("unknown section");
}

llvm::ArrayRef<OptionSpec>
tessera::withPlanOptions(llvm::ArrayRef<OptionSpec> own, FieldUse::Kind use) {
  // Rows hold references to their texts.
  static std::deque<std::string> texts;
  std::vector<OptionSpec> more;
  if (use == FieldUse::kCompiled)
    more.assign(std::begin(kPartitionOptions), std::end(kPartitionOptions));
  for (const cost::ExecutedPlanField &field : getFields<cost::ExecutedPlan>()) {
    if (!(field.uses & use))
      continue;
    OptionSpec row;
    row.name = texts.emplace_back(field.getOption());
    row.value = field.getPlaceholder();
    // A search may fix a flag to either value.
    if (use == FieldUse::kPriced && row.value.empty())
      row.value = kFlagValue;
    if (auto *type = std::get_if<cost::ExecutedPlanField::Choice>(&field.type))
      row.choices = texts.emplace_back(llvm::join(type->names(), "|"));
    else if (row.value == "on|off")
      row.choices = row.value;
    row.old = texts.emplace_back(field.getOldOption());
    row.help = texts.emplace_back(field.getHelp());
    row.section = getSection(field.place.section);
    row.brief = field.getBrief();
    more.push_back(row);
  }
  return arrangeOptions(own, more);
}

std::string tessera::getFieldText(const cost::ExecutedPlanField &field,
                                  const ParsedOptions &parsed) {
  std::string option = field.getOption();
  StringRef text = parsed.get(option);
  if (!field.value.empty())
    return text.str();
  return text.empty() ? "on" : text.str();
}

llvm::Expected<double> tessera::readNumber(const ParsedOptions &parsed,
                                           StringRef name) {
  if (!parsed.has(name))
    return 0.0;
  std::optional<double> number = parseAmount(parsed.get(name));
  if (!number || !(*number > 0) || *number > 1e30)
    return llvm::createStringError(
        name + " expects a number above 0 but got '" + parsed.get(name) + "'");
  return *number;
}

llvm::Expected<std::optional<PictureStyle>>
tessera::readPictureOption(const ParsedOptions &parsed, StringRef output) {
  auto choice = parsed.getChoice("--picture", "auto");
  if (!choice)
    return choice.takeError();
  return findPictureStyle(PictureChoice(*choice),
                          output.empty() || output == "-");
}

llvm::Error tessera::writePageOption(const ParsedOptions &parsed,
                                     const Document &document) {
  if (!parsed.has("--html"))
    return llvm::Error::success();
  auto page = makePage(document);
  if (!page)
    return page.takeError();
  return writeOutput(parsed.get("--html"),
                     [&](llvm::raw_ostream &os) { os << *page; });
}

llvm::Error tessera::writeMegatronFlags(const Plan &plan, StringRef output) {
  TrainerFlags flags = getMegatronFlags(plan);
  for (const std::string &field : flags.unsaid)
    printNote("plan", (kMegatronRelease + " has no flag for " + field).str());
  return writeOutput(output, [&](llvm::raw_ostream &os) {
    for (const std::string &flag : flags.flags)
      os << flag << "\n";
  });
}

llvm::Error tessera::readFrameworkOf(const ParsedOptions &parsed,
                                     cost::PlanQuestion &question) {
  if (!parsed.has("--framework"))
    return llvm::Error::success();
  auto framework = cost::readFramework(parsed.get("--framework"));
  if (!framework)
    return framework.takeError();
  question.framework = parsed.get("--framework").str();
  question.isFrameworkFitted = framework->isFitted;
  return llvm::Error::success();
}

llvm::Expected<cost::PlanQuestion>
tessera::readQuestion(const ParsedOptions &parsed, std::string model) {
  cost::PlanQuestion question;
  if (llvm::Error error = readFrameworkOf(parsed, question))
    return std::move(error);
  question.model = std::move(model);
  for (auto [name, field] : {std::pair("--tokens", &question.tokens),
                             std::pair("--price", &question.price)}) {
    auto number = readNumber(parsed, name);
    if (!number)
      return number.takeError();
    *field = *number;
  }
  return question;
}

/// Reads one NAME=VALUE of --set.
static llvm::Error setExecution(StringRef text,
                                cost::GivenExecutedPlan &given) {
  auto [name, value] = text.split('=');
  if (name.size() == text.size())
    return llvm::createStringError("expects NAME=VALUE but got '" + text + "'");
  // Names of the plan's fields are options.
  if (findField<Plan>(name))
    return llvm::createStringError(name +
                                   ": expects a field of an execution; "
                                   "this one is the option --" +
                                   name);
  const Field<cost::ExecutedPlan> *field = findField<cost::ExecutedPlan>(name);
  if (field && field->value.empty())
    value = value == "on" ? "true" : value == "off" ? "false" : value;
  return given.set(name, value);
}

llvm::Error tessera::readExecutionFile(const ParsedOptions &parsed,
                                       cost::GivenExecutedPlan &given) {
  if (!parsed.has("--execution"))
    return llvm::Error::success();
  StringRef path = parsed.get("--execution");
  auto file = readJson(path);
  if (!file)
    return file.takeError();
  return prefixError(path + ": ", cost::readExecution(*file, given));
}

llvm::Error tessera::readSettings(const ParsedOptions &parsed,
                                  cost::GivenExecutedPlan &given) {
  for (StringRef text : parsed.getList("--set"))
    if (llvm::Error error = setExecution(text, given))
      return prefixError("--set: ", std::move(error));
  return llvm::Error::success();
}

llvm::Error tessera::setField(const cost::ExecutedPlanField &field,
                              StringRef text, cost::GivenExecutedPlan &given) {
  if (field.value.empty()) {
    if (text != "on" && text != "off")
      return llvm::createStringError(
          field.getOption() + " expects on or off but got '" + text + "'");
    text = text == "on" ? "true" : "false";
  }
  if (llvm::Error error = given.set(field.name, text))
    return llvm::createStringError("--" + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error tessera::readPlanOptions(const ParsedOptions &parsed,
                                     FieldUse::Kind use,
                                     cost::GivenExecutedPlan &given) {
  if (llvm::Error error = readExecutionFile(parsed, given))
    return error;
  for (const cost::ExecutedPlanField &field : getFields<cost::ExecutedPlan>()) {
    if (!(field.uses & use) || !parsed.has(field.getOption()))
      continue;
    if (llvm::Error error = setField(field, getFieldText(field, parsed), given))
      return error;
  }
  return readSettings(parsed, given);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Expected<llvm::json::Value> tessera::readJsonValue(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  auto value = parseJson((*buffer)->getBuffer());
  if (!value)
    return prefixError(path + ": ", value.takeError());
  return value;
}

llvm::Expected<llvm::json::Object> tessera::readJson(StringRef path) {
  auto value = readJsonValue(path);
  if (!value)
    return value.takeError();
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  return llvm::createStringError(path + ": expects a JSON object");
}

llvm::Error tessera::readPlanFile(StringRef path,
                                  cost::GivenExecutedPlan &given) {
  auto file = readJson(path);
  if (!file)
    return file.takeError();
  const llvm::json::Object *inner = file->getObject("layout");
  return prefixError(path + ": ",
                     cost::readPlan(inner ? *inner : *file, given));
}

//===----------------------------------------------------------------------===//
// Options of programs
//===----------------------------------------------------------------------===//

static llvm::Error readPadding(const ParsedOptions &parsed,
                               PipelineOptions &options) {
  constexpr llvm::StringLiteral name = "--pad-to-multiple-of";
  StringRef text = parsed.get(name, "auto");
  if (text == "auto")
    return llvm::Error::success();
  std::optional<int64_t> multiple = text == "off" ? 0 : parseCount(text);
  options.padMultiple = multiple.value_or(0);
  if (text != "off" && options.padMultiple < 1)
    return llvm::createStringError(
        name + " expects auto, off or an integer of at least 1 but got '" +
        text + "'");
  return llvm::Error::success();
}

/// The first given option of a compiled plan field that has one of `uses`
/// (`has`) or none of them (not `has`); empty if there is none.
static std::string findPlanOption(const ParsedOptions &parsed, unsigned uses,
                                  bool has) {
  for (const PlanField &field : getFields<Plan>())
    if ((field.uses & FieldUse::kCompiled) && bool(field.uses & uses) == has &&
        parsed.has(field.getOption()))
      return field.getOption();
  return "";
}

static llvm::Error checkConflicts(const ParsedOptions &parsed) {
  constexpr unsigned kDevices = FieldUse::kDevices;
  std::string devices = findPlanOption(parsed, kDevices, /*has=*/true);
  std::string others = findPlanOption(parsed, kDevices, /*has=*/false);
  std::string training =
      findPlanOption(parsed, kDevices | FieldUse::kForward, /*has=*/false);
  auto conflict = [](const llvm::Twine &a, const llvm::Twine &b) {
    return llvm::createStringError("expects " + a + " or " + b +
                                   " but got both");
  };
  if (parsed.has("--plan"))
    for (StringRef other :
         {StringRef("--mesh"), StringRef("--strategy"), StringRef("--forward"),
          StringRef(devices), StringRef(others)})
      if (!other.empty() && parsed.has(other))
        return conflict("--plan", other);
  for (StringRef other : {"--mesh", "--strategy"})
    if (!devices.empty() && parsed.has(other))
      return conflict(other, devices);
  if (parsed.has("--forward") && !training.empty())
    return conflict("--forward", training);
  return llvm::Error::success();
}

/// Reads the options of the search of --strategy auto.
static llvm::Error readSearch(const ParsedOptions &parsed,
                              const Strategy &strategy,
                              AutoShardingOptions &options) {
  for (StringRef name : {"--memory-limit", "--decisions", "--decisions-out",
                         "--decisions-update", "--search-dump"})
    if (parsed.has(name) && !strategy.isSearched)
      return llvm::createStringError(name + " expects --strategy auto");
  if (parsed.has("--memory-limit")) {
    auto bytes =
        parseMemoryLimit("--memory-limit", parsed.get("--memory-limit"));
    if (!bytes)
      return bytes.takeError();
    options.memoryLimit = *bytes;
  }
  options.search.dump = parsed.get("--search-dump").str();
  options.decisionsOut = parsed.get("--decisions-out").str();
  options.updatesDecisions = parsed.has("--decisions-update");
  if (options.updatesDecisions)
    for (StringRef name : {"--decisions", "--decisions-out"})
      if (parsed.has(name))
        return llvm::createStringError("expects --decisions-update or " + name +
                                       " but got both");
  if (!parsed.has("--decisions") && !options.updatesDecisions)
    return llvm::Error::success();
  StringRef path = parsed.get(options.updatesDecisions ? "--decisions-update"
                                                       : "--decisions");
  if (options.updatesDecisions)
    options.decisionsOut = path.str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  options.decisions = (*buffer)->getBuffer().str();
  return llvm::Error::success();
}

/// Reads --ranks, the number of devices whose mesh the search chooses.
static llvm::Error readRanks(const ParsedOptions &parsed,
                             const Strategy &strategy,
                             AutoShardingOptions &options) {
  if (!parsed.has("--ranks"))
    return llvm::Error::success();
  if (!strategy.isSearched || strategy.pp)
    return llvm::createStringError("--ranks expects --strategy auto");
  if (!parsed.has("--cluster"))
    return llvm::createStringError("--ranks expects --cluster FILE");
  for (StringRef name : {"--mesh", "--decisions", "--decisions-update"})
    if (parsed.has(name))
      return llvm::createStringError("--ranks chooses a mesh: expects no " +
                                     name);
  std::optional<int64_t> ranks = parseCount(parsed.get("--ranks"));
  if (!ranks || *ranks < 1)
    return llvm::createStringError(
        "--ranks expects a number of devices but got '" +
        parsed.get("--ranks") + "'");
  options.ranks = *ranks;
  return llvm::Error::success();
}

/// Reads --shardings and --shardings-out. The file completes `layout`, which is
/// as given.
static llvm::Error readShardings(const ParsedOptions &parsed,
                                 GivenLayout layout, PipelineOptions &options,
                                 AutoShardingOptions &choice) {
  if (parsed.has("--shardings-out")) {
    options.shardingsOut = std::make_shared<ShardingRecord>();
    options.shardingsOut->path = parsed.get("--shardings-out").str();
  }
  if (!parsed.has("--shardings"))
    return llvm::Error::success();
  if (parsed.has("--ranks"))
    return llvm::createStringError(
        "expects --shardings or --ranks but got both");
  StringRef path = parsed.get("--shardings");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  auto file = parseShardingFile((*buffer)->getBuffer());
  if (!file)
    return prefixError(path + ": ", file.takeError());
  auto given = std::make_shared<GivenShardings>();
  given->path = path.str();
  given->file = std::move(*file);
  if (llvm::Error error = takeLayout(*given, layout))
    return prefixError(path + ": ", std::move(error));
  options.layout = std::move(layout);
  if (given->hasOwnStrategy)
    choice.decisions = given->file.decisions;
  options.shardings = std::move(given);
  return llvm::Error::success();
}

llvm::Error tessera::readPipelineOptions(const ParsedOptions &parsed,
                                         PipelineOptions &options,
                                         AutoShardingOptions &choice) {
  if (llvm::Error error = checkConflicts(parsed))
    return error;
  options.forward = parsed.has("--forward");
  options.verifyEach =
      parsed.has("--verify-each") || std::getenv("TESSERA_VERIFY_EACH");
  if (parsed.has("--mesh")) {
    llvm::Expected<Mesh> mesh = parseMesh(parsed.get("--mesh"));
    if (!mesh)
      return prefixError("--mesh: ", mesh.takeError());
    options.layout.mesh = std::move(*mesh);
  }
  llvm::Expected<Strategy> strategy = parseStrategy(parsed.get("--strategy"));
  if (!strategy)
    return prefixError("--strategy: ", strategy.takeError());
  options.layout.strategy = *strategy;
  if (llvm::Error error = readSearch(parsed, *strategy, choice))
    return error;
  if (parsed.has("--cluster")) {
    auto cluster =
        resolveShared("clusters", parsed.get("--cluster"), "--cluster");
    if (!cluster)
      return cluster.takeError();
    options.cluster = std::move(*cluster);
  }
  if (llvm::Error error = readRanks(parsed, *strategy, choice))
    return error;
  cost::GivenExecutedPlan given;
  StringRef path = parsed.get("--plan");
  auto inPlan = [&](llvm::Error error) {
    return prefixError(path.empty() ? "--" : path.str() + ": ",
                       std::move(error));
  };
  if (parsed.has("--plan")) {
    if (llvm::Error error = readPlanFile(path, given))
      return error;
  } else if (llvm::Error error =
                 readPlanOptions(parsed, FieldUse::kCompiled, given)) {
    return error;
  }
  // A program runs as the compiler builds it, whoever else runs the plan.
  options.layout.plan = GivenPlan(given);
  GivenLayout layout = options.layout;
  if (llvm::Error error = options.layout.complete())
    return inPlan(std::move(error));
  if (llvm::Error error = readShardings(parsed, layout, options, choice))
    return error;
  auto order = parsed.getChoice("--sequence-order", "auto");
  if (!order)
    return order.takeError();
  options.ordersSequence = *order == 1;
  options.overlap = given.plan.overlap;
  if (given.plan.overlapTp)
    options.collectiveMatmul = CollectiveMatmul::On;
  return readPadding(parsed, options);
}
