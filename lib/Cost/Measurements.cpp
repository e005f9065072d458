//===- Measurements.cpp - Reads nccl-tests and tables of matmuls ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Calibrate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

namespace {

/// The lines of a text, with their numbers.
class Lines {
public:
  Lines(StringRef text, StringRef file) : rest(text), file(file) {}

  bool next(StringRef &line) {
    if (rest.empty())
      return false;
    std::tie(line, rest) = rest.split('\n');
    line = line.rtrim("\r");
    ++number;
    return true;
  }
  Error fail(const Twine &what) const {
    return createStringError(file + ":" + Twine(number) + ": " + what);
  }
  StringRef getFile() const { return file; }

private:
  StringRef rest, file;
  unsigned number = 0;
};

/// A row of nccl-tests: size count type redop root time algbw busbw ...
struct NcclRow {
  double bytes, micros, algorithmBandwidth, busBandwidth;
  bool reduces;
};

} // namespace

/// Returns the collective by the name of its program, if the text has one.
static std::optional<CollectiveKind> kindByName(StringRef text) {
  constexpr std::pair<StringLiteral, CollectiveKind> kPrograms[] = {
      {"all_reduce_perf", CollectiveKind::AllReduce},
      {"all_gather_perf", CollectiveKind::AllGather},
      {"reduce_scatter_perf", CollectiveKind::ReduceScatter},
      {"alltoall_perf", CollectiveKind::AllToAll},
      {"broadcast_perf", CollectiveKind::Broadcast},
      {"sendrecv_perf", CollectiveKind::Permute}};
  for (const auto &[name, kind] : kPrograms)
    if (text.contains(name))
      return kind;
  return std::nullopt;
}

/// Returns the collective by the bytes that nccl-tests counts as moved: 2
/// (n-1)/n of the size for an all-reduce, (n-1)/n for reduce-scatter and
/// all-gather.
static CollectiveKind kindByRatio(ArrayRef<NcclRow> rows) {
  const NcclRow &largest = rows.back();
  double ratio = largest.busBandwidth / largest.algorithmBandwidth;
  if (!largest.reduces)
    return CollectiveKind::AllGather;
  return ratio > 0.999 ? CollectiveKind::AllReduce
                       : CollectiveKind::ReduceScatter;
}

static Expected<Measurements> parseNccl(StringRef text, StringRef fileName) {
  Lines lines(text, fileName);
  std::vector<NcclRow> rows;
  int64_t ranks = 0;
  StringRef line;
  while (lines.next(line)) {
    StringRef trimmed = line.trim();
    if (trimmed.consume_front("#")) {
      SmallVector<StringRef> words;
      trimmed.split(words, ' ', -1, /*KeepEmpty=*/false);
      int64_t rank;
      if (words.size() >= 2 && words[0] == "Rank" &&
          !words[1].getAsInteger(10, rank))
        ranks = std::max(ranks, rank + 1);
      continue;
    }
    SmallVector<StringRef> cells;
    trimmed.split(cells, ' ', -1, /*KeepEmpty=*/false);
    NcclRow row;
    // Skip lines of other programs among the rows.
    if (cells.size() < 8 || cells[0].getAsDouble(row.bytes) ||
        cells[5].getAsDouble(row.micros) ||
        cells[6].getAsDouble(row.algorithmBandwidth) ||
        cells[7].getAsDouble(row.busBandwidth))
      continue;
    row.reduces = cells[3] != "none";
    if (!(row.micros > 0) || row.bytes < 0)
      return lines.fail("expects a time above 0 but got " + cells[5]);
    rows.push_back(row);
  }
  if (rows.empty())
    return lines.fail("expects rows of nccl-tests but got none");
  if (ranks < 2)
    return lines.fail(
        "expects lines '#  Rank  N' of at least 2 ranks but got " +
        Twine(ranks));
  CollectiveKind kind = kindByName(text).value_or(kindByRatio(rows));
  Measurements result;
  for (const NcclRow &row : rows)
    if (row.bytes > 0)
      result.collectives.push_back({kind, ranks, row.bytes, row.micros * 1e-6});
  return result;
}

/// Returns the first column with one of several names, or -1.
static int findColumn(ArrayRef<StringRef> header, ArrayRef<StringRef> names) {
  for (auto [i, cell] : enumerate(header))
    if (is_contained(names, cell.trim().lower()))
      return i;
  return -1;
}

static std::optional<DType> parseType(StringRef name) {
  for (DType type : {DType::F32, DType::BF16, DType::F16, DType::FP8})
    if (name == stringify(type))
      return type;
  return std::nullopt;
}

namespace {

/// The columns of a table of matmuls.
struct Columns {
  int m, n, k, batch, type, time;
  /// Seconds per unit of the time column; 0 if it is TFLOP/s.
  double unit;
};

} // namespace

static Expected<Columns> readHeader(const Lines &lines,
                                    ArrayRef<StringRef> header) {
  Columns columns{findColumn(header, {"m"}),
                  findColumn(header, {"n"}),
                  findColumn(header, {"k"}),
                  findColumn(header, {"batch"}),
                  findColumn(header, {"dtype"}),
                  -1,
                  0};
  constexpr std::pair<StringLiteral, double> kUnits[] = {
      {"seconds", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"tflops", 0}};
  for (const auto &[name, unit] : kUnits)
    if (int column = findColumn(header, {name}); column >= 0) {
      columns.time = column;
      columns.unit = unit;
      break;
    }
  if (columns.m < 0 || columns.n < 0 || columns.k < 0 || columns.time < 0)
    return lines.fail("expects a header with m, n, k and seconds, ms, us or "
                      "tflops, or the output of nccl-tests, but got '" +
                      join(header, ",") + "'");
  return columns;
}

static Expected<Measurements> parseMatmuls(StringRef text, StringRef fileName) {
  Lines lines(text, fileName);
  StringRef line;
  SmallVector<StringRef> header;
  while (lines.next(line) && line.trim().empty())
    ;
  line.split(header, ',');
  Expected<Columns> columns = readHeader(lines, header);
  if (!columns)
    return columns.takeError();
  Measurements result;
  while (lines.next(line)) {
    if (line.trim().empty())
      continue;
    SmallVector<StringRef> cells;
    line.split(cells, ',');
    MatmulSample sample;
    sample.type = DType::BF16;
    sample.dims.batch = 1;
    auto integer = [&](int column, int64_t &field) {
      return column < 0 ||
             (size_t(column) < cells.size() &&
              !cells[column].trim().getAsInteger(10, field) && field >= 1);
    };
    double time;
    bool isValid = integer(columns->m, sample.dims.m) &&
                   integer(columns->n, sample.dims.n) &&
                   integer(columns->k, sample.dims.k) &&
                   integer(columns->batch, sample.dims.batch) &&
                   size_t(columns->time) < cells.size() &&
                   !cells[columns->time].trim().getAsDouble(time) && time > 0;
    if (isValid && columns->type >= 0) {
      auto type = size_t(columns->type) < cells.size()
                      ? parseType(cells[columns->type].trim())
                      : std::nullopt;
      isValid = type.has_value();
      if (type)
        sample.type = *type;
    }
    if (!isValid)
      return lines.fail("expects sizes, a type and a time above 0 but got '" +
                        line + "'");
    const MatmulDims &d = sample.dims;
    double flops = 2.0 * d.batch * double(d.m) * double(d.n) * double(d.k);
    sample.seconds =
        columns->unit > 0 ? time * columns->unit : flops / (time * 1e12);
    result.matmuls.push_back(sample);
  }
  if (result.matmuls.empty())
    return lines.fail("expects rows of matmuls but got none");
  return result;
}

Expected<Measurements> tessera::cost::parseMeasurements(StringRef text,
                                                        StringRef fileName) {
  // nccl-tests starts with comment lines, or with lines of a launcher.
  bool isNccl = text.contains("busbw") || text.contains("nccl-tests");
  return isNccl ? parseNccl(text, fileName) : parseMatmuls(text, fileName);
}
