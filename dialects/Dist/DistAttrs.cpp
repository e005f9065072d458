//===- DistAttrs.cpp - Assembly and verifiers of dist attributes ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/DialectImplementation.h"
#include "tessera/Interfaces/Limits.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/DistAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Axes: `"x"`, `"x":(m)k`, and lists of them in braces
//===----------------------------------------------------------------------===//

static ParseResult parseAxisRef(AsmParser &parser, AxisRefAttr &ref) {
  std::string name;
  int64_t preSize = 1, size = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    if (parser.parseLParen() || parser.parseInteger(preSize) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
  ref = AxisRefAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), name, preSize, size);
  return success(bool(ref));
}

static void printAxisRef(AsmPrinter &printer, AxisRefAttr ref) {
  printer << '"' << ref.getName() << '"';
  if (ref.getSize())
    printer << ":(" << ref.getPreSize() << ')' << ref.getSize();
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  AxisRefAttr ref;
  if (parser.parseLess() || parseAxisRef(parser, ref) || parser.parseGreater())
    return {};
  return ref;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisRef(printer, *this);
  printer << '>';
}

LogicalResult AxisRefAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef name, int64_t preSize,
                                  int64_t size) {
  if (size == 0 && preSize == 1)
    return success();
  if (preSize < 1 || size < 2)
    return emitError() << "(C1) expects a sub-axis of axis \"" << name
                       << "\" with m >= 1 and k >= 2 but got (" << preSize
                       << ")" << size;
  if (preSize > kMaxDevices / size)
    return emitError() << "(C1) expects a sub-axis of axis \"" << name
                       << "\" of at most " << kMaxDevices
                       << " devices but got (" << preSize << ")" << size;
  return success();
}

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<AxisRefAttr> &refs) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
    return parseAxisRef(parser, refs.emplace_back());
  });
}

static void printAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> refs) {
  printer << '{';
  llvm::interleaveComma(refs, printer,
                        [&](AxisRefAttr ref) { printAxisRef(printer, ref); });
  printer << '}';
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> refs;
  if (parser.parseLess() || parseAxes(parser, refs) || parser.parseGreater())
    return {};
  return AxesAttr::get(parser.getContext(), refs);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxes(printer, getRefs());
  printer << '>';
}

static AxisList toPlainAxes(ArrayRef<AxisRefAttr> refs, const Mesh &mesh) {
  AxisList axes;
  for (AxisRefAttr ref : refs) {
    unsigned axis = *mesh.find(ref.getName());
    axes.push_back(ref.getSize()
                       ? AxisRef{axis, ref.getPreSize(), ref.getSize()}
                       : mesh.fullAxis(axis));
  }
  return axes;
}

static SmallVector<AxisRefAttr>
fromPlainAxes(MLIRContext *context, ArrayRef<AxisRef> axes, const Mesh &mesh) {
  SmallVector<AxisRefAttr> refs;
  for (const AxisRef &a : axes) {
    bool full = a == mesh.fullAxis(a.axis);
    refs.push_back(AxisRefAttr::get(context, mesh.names[a.axis],
                                    full ? 1 : a.preSize, full ? 0 : a.size));
  }
  return refs;
}

AxisList AxesAttr::toAxes(const Mesh &mesh) const {
  return toPlainAxes(getRefs(), mesh);
}

AxesAttr AxesAttr::get(MLIRContext *context, const Mesh &mesh,
                       ArrayRef<AxisRef> axes) {
  return get(context, fromPlainAxes(context, axes, mesh));
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

static ParseResult parseMeshAxis(AsmParser &parser, MeshAxisAttr &axis) {
  std::string name;
  int64_t size = 0;
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size))
    return failure();
  axis = MeshAxisAttr::get(parser.getContext(), name, size);
  return success();
}

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  MeshAxisAttr axis;
  if (parser.parseLess() || parseMeshAxis(parser, axis) ||
      parser.parseGreater())
    return {};
  return axis;
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << getName() << "\"=" << getSize() << '>';
}

ParseResult dist::parseMeshAxes(AsmParser &parser, MeshAttr &mesh) {
  SmallVector<MeshAxisAttr> axes;
  StringAttr stage;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseMeshAxis(parser, axes.emplace_back());
      }))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("stage")))
    if (parser.parseAttribute(stage))
      return failure();
  mesh = MeshAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), axes, stage);
  return success(bool(mesh));
}

void dist::printMeshAxes(AsmPrinter &printer, Operation *, MeshAttr mesh) {
  printer << '[';
  llvm::interleaveComma(mesh.getAxes(), printer, [&](MeshAxisAttr axis) {
    printer << '"' << axis.getName() << "\"=" << axis.getSize();
  });
  printer << ']';
  if (mesh.getStage())
    printer << " stage " << mesh.getStage();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh;
  if (parser.parseLess() || parseMeshAxes(parser, mesh) ||
      parser.parseGreater())
    return {};
  return mesh;
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printMeshAxes(printer, nullptr, *this);
  printer << '>';
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes, StringAttr stage) {
  llvm::StringSet<> names;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "(C1) expects each mesh axis once but got \""
                         << axis.getName() << "\" twice";
    if (axis.getSize() < 1)
      return emitError() << "(C2) expects mesh axes of size at least 1 but got "
                         << axis.getSize() << " for \"" << axis.getName()
                         << "\"";
  }
  if (stage && !names.contains(stage.getValue()))
    return emitError() << "(C3) expects the stage axis to be an axis of the "
                          "mesh but got "
                       << stage;
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) {
    if (axis.getSize() > kMaxDevices / devices)
      return emitError() << "(C4) expects at most " << kMaxDevices
                         << " devices but got more along \"" << axis.getName()
                         << "\" of size " << axis.getSize();
    devices *= axis.getSize();
  }
  return success();
}

Mesh MeshAttr::toMesh() const {
  Mesh mesh;
  for (MeshAxisAttr axis : getAxes()) {
    mesh.names.push_back(axis.getName().str());
    mesh.sizes.push_back(axis.getSize());
  }
  if (getStage())
    mesh.stageAxis = mesh.find(getStage().getValue());
  return mesh;
}

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<MeshAxisAttr> axes;
  for (auto [name, size] : llvm::zip(mesh.names, mesh.sizes))
    axes.push_back(MeshAxisAttr::get(context, name, size));
  StringAttr stage;
  if (mesh.stageAxis)
    stage = StringAttr::get(context, mesh.names[*mesh.stageAxis]);
  return get(context, axes, stage);
}

//===----------------------------------------------------------------------===//
// Dimension sharding: `{"x", "y":(1)2, ?}p1`
//===----------------------------------------------------------------------===//

static ParseResult parseDim(AsmParser &parser, DimShardingAttr &dim) {
  SmallVector<AxisRefAttr> axes;
  bool open = false;
  int64_t priority = -1;
  SMLoc loc = parser.getCurrentLocation();
  auto parseEntry = [&]() -> ParseResult {
    if (open)
      return parser.emitError(parser.getCurrentLocation(),
                              "expects no axis after '?'");
    if (succeeded(parser.parseOptionalQuestion())) {
      open = true;
      return success();
    }
    return parseAxisRef(parser, axes.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  StringRef keyword;
  SMLoc keywordLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword)))
    if (!keyword.consume_front("p") || keyword.getAsInteger(10, priority))
      return parser.emitError(keywordLoc,
                              "expects a priority such as p1 after a "
                              "dimension's axes");
  dim = DimShardingAttr::getChecked([&] { return parser.emitError(loc); },
                                    parser.getContext(), axes, open, priority);
  return success(bool(dim));
}

static void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printer << '{';
  llvm::interleaveComma(dim.getAxes(), printer,
                        [&](AxisRefAttr ref) { printAxisRef(printer, ref); });
  if (dim.getOpen())
    printer << (dim.getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (dim.getPriority() >= 0)
    printer << 'p' << dim.getPriority();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  DimShardingAttr dim;
  if (parser.parseLess() || parseDim(parser, dim) || parser.parseGreater())
    return {};
  return dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer, *this);
  printer << '>';
}

LogicalResult
DimShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<AxisRefAttr> axes, bool open,
                        int64_t priority) {
  if (axes.empty() && !open && priority >= 0)
    return emitError() << "(C1) expects no priority on a closed dimension "
                          "without axes but got p"
                       << priority;
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  dist::ReductionKind kind = dist::ReductionKind::Sum;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseDim(parser, dims.emplace_back());
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parser.parseEqual() || parseAxes(parser, replicated))
        return {};
      continue;
    }
    if (parser.parseKeyword("unreduced", " or 'replicated'") ||
        parser.parseEqual() || parseAxes(parser, unreduced))
      return {};
    StringRef keyword;
    SMLoc kindLoc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(&keyword))) {
      std::optional<dist::ReductionKind> parsed =
          symbolizeReductionKind(keyword);
      if (!parsed) {
        parser.emitError(kindLoc, "expects sum, max or min but got '")
            << keyword << "'";
        return {};
      }
      kind = *parsed;
    }
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), mesh, dims, replicated,
                                  unreduced, kind);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<' << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << ']';
  if (!getReplicated().empty()) {
    printer << ", replicated=";
    printAxes(printer, getReplicated());
  }
  if (!getUnreduced().empty()) {
    printer << ", unreduced=";
    printAxes(printer, getUnreduced());
    if (getReduction() != dist::ReductionKind::Sum)
      printer << ' ' << stringifyReductionKind(getReduction());
  }
  printer << '>';
}

bool dist::refsOverlap(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName())
    return false;
  if (!a.getSize() || !b.getSize())
    return true;
  return AxisRef{0, a.getPreSize(), a.getSize()}.overlaps(
      {0, b.getPreSize(), b.getSize()});
}

static std::string printed(AxisRefAttr ref) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"' << ref.getName() << '"';
  if (ref.getSize())
    os << ":(" << ref.getPreSize() << ')' << ref.getSize();
  return text;
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh,
                                   ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<AxisRefAttr> replicated,
                                   ArrayRef<AxisRefAttr> unreduced,
                                   dist::ReductionKind reduction) {
  SmallVector<AxisRefAttr> used;
  auto use = [&](ArrayRef<AxisRefAttr> refs) -> LogicalResult {
    for (AxisRefAttr ref : refs) {
      for (AxisRefAttr other : used)
        if (refsOverlap(ref, other))
          return emitError()
                 << "(C1) expects each axis once in a sharding but got "
                 << printed(ref)
                 << (ref == other ? " twice"
                                  : " and the overlapping " + printed(other));
      used.push_back(ref);
    }
    return success();
  };
  for (DimShardingAttr dim : dims) {
    if (failed(use(dim.getAxes())))
      return failure();
    ArrayRef<AxisRefAttr> axes = dim.getAxes();
    for (size_t i = 1; i < axes.size(); ++i)
      if (axes[i - 1].getSize() && axes[i].getSize() &&
          axes[i - 1].getName() == axes[i].getName() &&
          axes[i - 1].getPreSize() * axes[i - 1].getSize() ==
              axes[i].getPreSize())
        return emitError()
               << "(C2) expects adjacent sub-axes of one axis merged "
                  "but got "
               << printed(axes[i - 1]) << " and " << printed(axes[i]);
  }
  if (failed(use(replicated)) || failed(use(unreduced)))
    return failure();
  return success();
}

Sharding ShardingAttr::toSharding(const Mesh &mesh) const {
  Sharding s;
  for (DimShardingAttr dim : getDims()) {
    DimSharding d{toPlainAxes(dim.getAxes(), mesh), dim.getOpen(),
                  std::nullopt};
    if (dim.getPriority() >= 0)
      d.priority = dim.getPriority();
    s.dims.push_back(d);
  }
  s.replicated = toPlainAxes(getReplicated(), mesh);
  s.unreduced = toPlainAxes(getUnreduced(), mesh);
  s.reduction = toPlain(getReduction());
  return s;
}

ShardingAttr ShardingAttr::get(FlatSymbolRefAttr symbol, const Mesh &mesh,
                               const Sharding &s) {
  MLIRContext *context = symbol.getContext();
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &d : s.dims)
    dims.push_back(DimShardingAttr::get(context,
                                        fromPlainAxes(context, d.axes, mesh),
                                        d.open, d.priority.value_or(-1)));
  return get(context, symbol, dims, fromPlainAxes(context, s.replicated, mesh),
             fromPlainAxes(context, s.unreduced, mesh), fromPlain(s.reduction));
}

/// The axis references that the mesh must define, in order of appearance.
static SmallVector<AxisRefAttr> allRefs(ShardingAttr sharding) {
  SmallVector<AxisRefAttr> refs;
  for (DimShardingAttr dim : sharding.getDims())
    llvm::append_range(refs, dim.getAxes());
  llvm::append_range(refs, sharding.getReplicated());
  llvm::append_range(refs, sharding.getUnreduced());
  return refs;
}

LogicalResult
ShardingAttr::verifyFor(Operation *op, Type type,
                        function_ref<InFlightDiagnostic()> emitError) const {
  MeshOp meshOp = lookupMesh(op, getMesh());
  if (!meshOp)
    return emitError() << "(C3) expects a sharding on a known mesh but got "
                       << getMesh();
  Mesh mesh = meshOp.getMesh().toMesh();
  if (failed(verifyRefs(allRefs(*this), mesh, getMesh(), emitError)))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t rank = getDims().size();
  if (!tensor || tensor.getRank() != rank)
    return emitError()
           << "(C5) expects a sharding of the tensor's rank but got " << rank
           << " dimensions for " << type;
  if (!tensor.getElementType().isIntOrIndexOrFloat())
    return emitError() << "(C5) expects a sharding of a tensor of floats, "
                          "integers or index but got "
                       << type;
  if (isTooLarge(tensor.getShape()))
    return emitError() << "(C5) expects a sharding of a tensor of at most 2^48 "
                          "elements but got "
                       << type;
  for (AxisRefAttr ref : allRefs(*this))
    if (mesh.stageAxis && mesh.names[*mesh.stageAxis] == ref.getName())
      return emitError()
             << "(C6) expects no stage axis in a sharding but got \""
             << ref.getName() << "\"";
  return success();
}
