//===- DistPipeline.cpp - Verifiers of pipelines --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks each function on its own. dist-check-pipelines checks that the
// functions of all pp ranks and their lists fit each other.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/StageRanks.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

//===----------------------------------------------------------------------===//
// pipeline
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<int64_t>> PipelineOp::getStageRanks() {
  return readStageRanks(getPaths());
}

TaskOp PipelineOp::getTask(TaskKind kind, int64_t chunk) {
  for (auto task : getBody().getOps<TaskOp>())
    if (task.getKind() == kind &&
        static_cast<int64_t>(task.getChunk()) == chunk)
      return task;
  return {};
}

LogicalResult PipelineOp::verify() {
  auto count = static_cast<int64_t>(getMicroBatches());
  if (failed(verifyPaths(*this, "(C1)", getPaths(), count)))
    return failure();
  for (auto [i, batch] : llvm::enumerate(getBatches())) {
    auto type = cast<RankedTensorType>(batch.getType());
    if (type.getRank() < 1 || type.getDimSize(0) != count)
      return emitOpError("(C3) expects batch operand ")
             << i << " to have " << count
             << " micro-batches in its first dimension but got " << type;
  }
  return success();
}

/// The type of a tensor's slices; null for a scalar, which has none.
static Type findSliceType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() < 1 ? Type() : getSliceType(tensor);
}

/// The results of a pipeline that tasks add to or store.
namespace {
struct ResultUses {
  explicit ResultUses(PipelineOp op)
      : op(op), added(op.getNumResults()), stored(op.getNumResults()) {}

  LogicalResult visit(TaskOp task);
  LogicalResult check();

  PipelineOp op;
  llvm::SmallBitVector added, stored;
};
} // namespace

LogicalResult ResultUses::visit(TaskOp task) {
  auto check = [&](ArrayRef<int64_t> numbers, ValueRange values, bool isStored,
                   llvm::SmallBitVector &used) -> LogicalResult {
    for (auto [number, value] : llvm::zip(numbers, values)) {
      if (number < 0 || number >= op.getNumResults())
        return task.emitOpError("(C4) expects one of ")
               << op.getNumResults() << " results but got " << number;
      Type type = op.getResult(number).getType();
      Type wanted = isStored ? findSliceType(type) : type;
      if (value.getType() != wanted)
        return task.emitOpError("(C4) expects a value of type ")
               << wanted << " for result " << number << " but got "
               << value.getType();
      used.set(number);
    }
    return success();
  };
  TaskYieldOp yield = task.getYield();
  if (failed(check(yield.getAddTo(), yield.getAdds(), false, added)))
    return failure();
  return check(yield.getStoreTo(), yield.getStores(), true, stored);
}

LogicalResult ResultUses::check() {
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    if (added.test(i) == stored.test(i))
      return op.emitOpError("(C4) expects result ")
             << i << " to be added to or stored to but got "
             << (added.test(i) ? "both" : "neither");
    auto type = cast<RankedTensorType>(op.getResult(i).getType());
    if (stored.test(i) &&
        type.getDimSize(0) != static_cast<int64_t>(op.getMicroBatches()))
      return op.emitOpError("(C4) expects result ")
             << i << " to have " << op.getMicroBatches()
             << " micro-batches in its first dimension but got " << type;
  }
  return success();
}

/// Checks C2 for one chunk.
static LogicalResult verifyChunk(PipelineOp op, int64_t chunk) {
  auto has = [&](TaskKind kind) { return bool(op.getTask(kind, chunk)); };
  bool isSplit = has(TaskKind::InputGrad);
  if (!has(TaskKind::Forward) || isSplit != has(TaskKind::WeightGrad))
    return op.emitOpError("(C2) expects tasks F; F and BW; F, B and W; or all "
                          "four of chunk ")
           << chunk;
  if (!isSplit || !has(TaskKind::Backward))
    return success();
  auto getSent = [&](TaskKind kind) {
    return op.getTask(kind, chunk).getYield().getSends().getTypes();
  };
  TypeRange split = getSent(TaskKind::InputGrad),
            whole = getSent(TaskKind::Backward);
  if (split == whole)
    return success();
  return op.emitOpError("(C2) expects tasks B and BW of chunk ")
         << chunk << " to send values of the same types but got "
         << SmallVector<Type>(split) << " and " << SmallVector<Type>(whole);
}

/// The task of the same chunk that keeps the values of a source.
static std::optional<TaskKind> getKeeper(SourceKind source) {
  switch (source) {
  case SourceKind::Forward:
    return TaskKind::Forward;
  case SourceKind::InputGrad:
    return TaskKind::InputGrad;
  case SourceKind::Recv:
  case SourceKind::Batch:
    return std::nullopt;
  }
  return std::nullopt;
}

/// True if tasks of a kind may take values of a source.
static bool takes(TaskKind kind, SourceKind source) {
  switch (source) {
  case SourceKind::Recv:
    return kind != TaskKind::WeightGrad;
  case SourceKind::Batch:
    return true;
  case SourceKind::Forward:
    return kind != TaskKind::Forward;
  case SourceKind::InputGrad:
    return kind == TaskKind::WeightGrad;
  }
  return false;
}

/// Checks C2 and C3 for one argument.
static LogicalResult verifySource(TaskOp task, unsigned i) {
  SourceAttr source = task.getSource(i);
  auto name = [&] {
    return (stringifySourceKind(source.getKind()) + " " +
            Twine(source.getIndex()))
        .str();
  };
  if (!takes(task.getKind(), source.getKind()))
    return task.emitOpError("(C2) expects no argument of ")
           << name() << " in a task " << stringifyTaskKind(task.getKind());
  auto pipeline = cast<PipelineOp>(task->getParentOp());
  Type type = task.getBody().getArgument(i).getType();
  auto check = [&](ValueRange values, bool isSlice) -> LogicalResult {
    int64_t index = source.getIndex();
    if (index < 0 || index >= static_cast<int64_t>(values.size()))
      return task.emitOpError("(C3) expects argument ")
             << i << " to be one of " << values.size() << " values but got "
             << name();
    Type wanted = values[index].getType();
    if (isSlice)
      wanted = findSliceType(wanted);
    if (type == wanted)
      return success();
    return task.emitOpError("(C3) expects argument ")
           << i << " of type " << wanted << ", that of " << name()
           << ", but got " << type;
  };
  if (source.getKind() == SourceKind::Batch)
    return check(pipeline.getBatches(), /*isSlice=*/true);
  std::optional<TaskKind> keeper = getKeeper(source.getKind());
  if (!keeper) {
    if (source.getIndex() >= 0)
      return success();
    return task.emitOpError("(C3) expects a received value but got ") << name();
  }
  TaskOp from = pipeline.getTask(*keeper, task.getChunk());
  return check(from ? from.getYield().getKeeps() : ValueRange(), false);
}

LogicalResult PipelineOp::verifyRegions() {
  SmallVector<std::pair<TaskKind, int64_t>> seen;
  int64_t chunks = 0;
  ResultUses uses(*this);
  for (Operation &inner : getBody().front()) {
    auto task = dyn_cast<TaskOp>(inner);
    if (!task)
      return inner.emitOpError("expects only dist.task in a pipeline");
    auto chunk = static_cast<int64_t>(task.getChunk());
    if (chunk < 0 || llvm::is_contained(seen, std::pair(task.getKind(), chunk)))
      return task.emitOpError("(C2) expects one task of a kind and chunk but "
                              "got another ")
             << stringifyTaskKind(task.getKind()) << " " << chunk;
    seen.push_back({task.getKind(), chunk});
    chunks = std::max(chunks, chunk + 1);
    if (failed(uses.visit(task)))
      return failure();
    for (unsigned i = 0; i < task.getSources().size(); ++i)
      if (failed(verifySource(task, i)))
        return failure();
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    if (failed(verifyChunk(*this, chunk)))
      return failure();
  return uses.check();
}

//===----------------------------------------------------------------------===//
// task
//===----------------------------------------------------------------------===//

TaskYieldOp TaskOp::getYield() {
  return cast<TaskYieldOp>(getBody().front().getTerminator());
}

SourceAttr TaskOp::getSource(unsigned i) {
  return cast<SourceAttr>(getSources()[i]);
}

/// Parses `F 0 (%x = recv 0 : tensor<8xf32>, %t = batch 0 : tensor<8xi32>)
/// {...}`.
ParseResult TaskOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringRef kindName;
  int64_t chunk = 0;
  llvm::SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&kindName) || parser.parseInteger(chunk))
    return failure();
  std::optional<TaskKind> kind = symbolizeTaskKind(kindName);
  if (!kind)
    return parser.emitError(where, "expects a task F, B, W or BW but got '")
           << kindName << "'";
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> sources;
  auto parseArgument = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    StringRef sourceName;
    int64_t index = 0;
    if (parser.parseArgument(argument) || parser.parseEqual())
      return failure();
    llvm::SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&sourceName) || parser.parseInteger(index) ||
        parser.parseColonType(argument.type))
      return failure();
    std::optional<SourceKind> source = symbolizeSourceKind(sourceName);
    if (!source)
      return parser.emitError(at, "expects a source recv, batch, F or B but "
                                  "got '")
             << sourceName << "'";
    sources.push_back(SourceAttr::get(parser.getContext(), *source, index));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseArgument) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  result.addAttribute(getKindAttrName(result.name),
                      TaskKindAttr::get(parser.getContext(), *kind));
  result.addAttribute(getChunkAttrName(result.name),
                      builder.getI64IntegerAttr(chunk));
  result.addAttribute(getSourcesAttrName(result.name),
                      builder.getArrayAttr(sources));
  return success();
}

void TaskOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyTaskKind(getKind()) << ' ' << getChunk() << " (";
  llvm::interleaveComma(getBody().getArguments(), printer, [&](auto argument) {
    SourceAttr source = getSource(argument.getArgNumber());
    printer << argument << " = " << stringifySourceKind(source.getKind()) << ' '
            << source.getIndex() << " : " << argument.getType();
  });
  printer << ") ";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getKindAttrName(), getChunkAttrName(), getSourcesAttrName()});
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult TaskOp::verifyRegions() {
  if (getSources().size() != getBody().getNumArguments())
    return emitOpError("(C1) expects a source for each of ")
           << getBody().getNumArguments() << " arguments but got "
           << getSources().size();
  auto yield = dyn_cast<TaskYieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError("expects the region to end with dist.task_yield");
  if (getKind() == TaskKind::WeightGrad && !yield.getSends().empty())
    return emitOpError("(C2) expects a task W to send nothing but got ")
           << yield.getSends().size() << " values";
  return success();
}

LogicalResult TaskYieldOp::verify() {
  auto check = [&](StringRef what, ArrayRef<int64_t> numbers,
                   ValueRange values) -> LogicalResult {
    if (numbers.size() == values.size())
      return success();
    return emitOpError("(C1) expects a result for each value that it ")
           << what << " but got " << numbers.size() << " for " << values.size();
  };
  if (failed(check("adds", getAddTo(), getAdds())))
    return failure();
  return check("stores", getStoreTo(), getStores());
}

//===----------------------------------------------------------------------===//
// exchange
//===----------------------------------------------------------------------===//

std::optional<int64_t> ExchangeOp::getPPRank() {
  auto rank = (*this)
                  ->getParentOfType<FunctionOpInterface>()
                  ->getAttrOfType<IntegerAttr>(DistDialect::kPPRankAttr);
  return rank ? std::optional<int64_t>(rank.getInt()) : std::nullopt;
}

int64_t ExchangeOp::getBytesReceived() {
  std::optional<int64_t> here = getPPRank();
  int64_t bytes = 0;
  for (auto [output, from] : llvm::zip(getOutputs(), getFrom())) {
    auto type = cast<RankedTensorType>(output.getType());
    unsigned bits = type.getElementType().isIntOrFloat()
                        ? type.getElementTypeBitWidth()
                        : 64;
    if (from != here)
      bytes += type.getNumElements() * llvm::divideCeil(bits, 8);
  }
  return bytes;
}

LogicalResult ExchangeOp::verify() {
  ArrayRef<int64_t> among = getAmong();
  bool isAscending = among.size() > 1 && among.front() >= 0 &&
                     llvm::is_sorted(among, std::less_equal<int64_t>());
  auto isMember = [&](int64_t rank) { return llvm::is_contained(among, rank); };
  if (!isAscending || !llvm::all_of(getFrom(), isMember))
    return emitOpError("(C1) expects two or more ascending pp ranks among "
                       "which those of 'from' are but got from [")
           << getFrom() << "] among [" << among << "]";
  for (TypeRange types : {TypeRange(getInputs()), TypeRange(getOutputs())})
    for (Type type : types)
      if (!getElementTypeOrSelf(type).isIntOrIndexOrFloat())
        return emitOpError("(C3) expects floats, integers or index but got ")
               << type;
  if (getFrom().size() == getNumResults())
    return success();
  return emitOpError("(C2) expects a result for each of ")
         << getFrom().size() << " values but got " << getNumResults();
}
