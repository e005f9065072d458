//===- Trace.cpp - The last step as a Chrome trace ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Trace.h. The format: "Trace Event Format", Google, 2016. An arrow begins
// in the slice around its "s" event and ends at the next slice after "f".
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>

using namespace tessera::rt;

TraceFile::~TraceFile() {
  if (file)
    fclose(file);
}

std::string TraceFile::open(const std::string &name) {
  path = name;
  file = fopen(path.c_str(), "we");
  return file ? std::string()
              : "cannot write the trace '" + path + "': " + strerror(errno);
}

namespace {
class TraceWriter {
public:
  TraceWriter(FILE *file, const Stamps &stamps, const StridedAxis &stageAxis);
  void write();

private:
  /// Source rank, target rank, tag.
  using Stream = std::tuple<int, int, int>;

  void beginEvent() {
    fputs(isFirst ? "\n" : ",\n", file);
    isFirst = false;
  }
  /// Formats the members that all events of a rank have.
  std::string at(int rank, double time) const;
  void nameRank(int rank);
  void slice(int rank, const Stamp &stamp, const std::string &name,
             const char *category, const std::string &args = "");
  void arrow(int rank, char phase, double time, const Stream &stream,
             size_t number);
  void writeList(int rank);

  FILE *file;
  const Stamps &stamps;
  const StridedAxis &stageAxis;
  double origin = INFINITY;
  bool isFirst = true;
  /// Ids of transfers, by stream and number within it.
  std::map<std::pair<Stream, size_t>, size_t> arrows;
};
} // namespace

TraceWriter::TraceWriter(FILE *file, const Stamps &stamps,
                         const StridedAxis &stageAxis)
    : file(file), stamps(stamps), stageAxis(stageAxis) {
  for (const std::vector<Stamp> &list : stamps)
    if (!list.empty())
      origin = std::min(origin, list.front().begin);
}

std::string TraceWriter::at(int rank, double time) const {
  return format("\"pid\": %lld, \"tid\": %d, \"ts\": %.3f",
                (long long)getBlockIndex(&stageAxis, 1, rank), rank,
                (time - origin) * 1e6);
}

void TraceWriter::nameRank(int rank) {
  long long stage = getBlockIndex(&stageAxis, 1, rank);
  beginEvent();
  fprintf(file,
          "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %lld, "
          "\"args\": {\"name\": \"pp rank %lld\"}},\n"
          "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %lld, "
          "\"tid\": %d, \"args\": {\"name\": \"rank %d\"}}",
          stage, stage, stage, rank, rank);
}

void TraceWriter::slice(int rank, const Stamp &stamp, const std::string &name,
                        const char *category, const std::string &args) {
  beginEvent();
  fprintf(file,
          "{\"ph\": \"X\", \"name\": \"%s\", \"cat\": \"%s\", %s, \"dur\": "
          "%.3f, \"args\": {%s}}",
          name.c_str(), category, at(rank, stamp.begin).c_str(),
          (stamp.end - stamp.begin) * 1e6, args.c_str());
}

void TraceWriter::arrow(int rank, char phase, double time, const Stream &stream,
                        size_t number) {
  // Perfetto drops arrows whose ids are not numbers.
  size_t id = arrows.try_emplace({stream, number}, arrows.size()).first->second;
  beginEvent();
  fprintf(file,
          "{\"ph\": \"%c\", \"name\": \"transfer\", \"cat\": \"transfer\", "
          "\"id\": %zu, %s}",
          phase, id, at(rank, time).c_str());
}

static const char *valueName(int tag) {
  return tag == 0 ? "activation" : "gradient";
}

void TraceWriter::writeList(int rank) {
  static const char *const tasks[] = {"F", "B", "W", "BW"};
  std::map<Stream, size_t> sends, receives;
  /// The receive in flight in each slot.
  std::map<int32_t, std::pair<Stream, size_t>> inFlight;
  for (const Stamp &stamp : stamps[size_t(rank)]) {
    int peer = getPeerRank(stageAxis, rank, stamp.peer);
    switch (stamp.kind) {
    case TESSERA_RT_ENTRY_RUN:
      if (stamp.backwardChunk >= 0) {
        slice(rank, stamp,
              format("F%d.%d|BW%d.%d", stamp.chunk, stamp.microBatch,
                     stamp.backwardChunk, stamp.backwardMicroBatch),
              "F|BW",
              format("\"chunk\": %d, \"micro_batch\": %d, "
                     "\"backward_chunk\": %d, \"backward_micro_batch\": %d",
                     stamp.chunk, stamp.microBatch, stamp.backwardChunk,
                     stamp.backwardMicroBatch));
        break;
      }
      slice(rank, stamp,
            format("%s%d.%d", tasks[stamp.task], stamp.chunk, stamp.microBatch),
            tasks[stamp.task],
            format("\"chunk\": %d, \"micro_batch\": %d", stamp.chunk,
                   stamp.microBatch));
      break;
    case TESSERA_RT_ENTRY_SEND: {
      Stream stream{rank, peer, stamp.tag};
      slice(rank, stamp,
            format("send %s to pp rank %d", valueName(stamp.tag), stamp.peer),
            "send");
      arrow(rank, 's', stamp.begin, stream, sends[stream]++);
      break;
    }
    case TESSERA_RT_ENTRY_RECV: {
      Stream stream{peer, rank, stamp.tag};
      inFlight[stamp.slot] = {stream, receives[stream]++};
      break;
    }
    default: {
      auto it = inFlight.find(stamp.slot);
      bool isSend = it == inFlight.end();
      slice(rank, stamp,
            isSend ? "wait for a send"
                   : format("wait for %s",
                            valueName(std::get<2>(it->second.first))),
            "wait");
      if (isSend)
        break;
      arrow(rank, 'f', stamp.end, it->second.first, it->second.second);
      inFlight.erase(it);
    }
    }
  }
}

void TraceWriter::write() {
  fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", file);
  for (int rank = 0; rank < int(stamps.size()); ++rank) {
    nameRank(rank);
    writeList(rank);
  }
  fputs("\n]}\n", file);
}

std::string TraceFile::write(const Stamps &stamps,
                             const StridedAxis &stageAxis) {
  errno = 0;
  TraceWriter(file, stamps, stageAxis).write();
  bool isWritten = !ferror(file);
  isWritten &= fclose(file) == 0;
  file = nullptr;
  if (isWritten)
    return std::string();
  return "cannot write all of the trace '" + path + "'" +
         (errno ? std::string(": ") + strerror(errno) : "");
}
