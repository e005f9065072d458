//===- DeviceFigures.h - Tables of devices and kernels ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables that a figure of devices and a roofline draw, and the sentences
// about them. They depend on a layout, a cluster and kernels, not on a report.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_DEVICEFIGURES_H
#define TESSERA_PLANNING_DEVICEFIGURES_H

#include "tessera/Cost/LayerTime.h"
#include "tessera/Report/Table.h"

namespace tessera {

/// The name of the outermost level that a group over these axes reaches; empty
/// for one device. The machine is on this cluster.
std::string nameLink(const cost::Machine &machine, const ClusterSpec &cluster,
                     llvm::ArrayRef<cost::PlanAxis> axes);

/// The axes of a mesh, the outermost first: devices are numbered row-major.
/// The machine has this layout on this cluster.
Table makeAxisTable(const cost::Machine &machine, const ClusterSpec &cluster,
                    const Layout &layout);

/// A sentence about the axes whose groups stay on the innermost level and those
/// that leave it; empty for one device. `axes` is makeAxisTable()'s.
std::string describeAxes(const Table &axes, const ClusterSpec &cluster);

/// The kernels that have FLOPs: their sizes, times and shares of the peak.
Table makeKernelTable(const cost::DeviceModel &device,
                      llvm::ArrayRef<cost::OpWork> ops);

/// A sentence about the matmuls of makeKernelTable(); empty without any.
std::string describeKernels(const Table &kernels);

/// The ceilings of arithmetic and of memory, in FLOP/s and bytes per second.
/// Rows of links have a name, kind "link" and GB/s.
Table makeCeilingTable(llvm::StringRef peakType, double peak,
                       double memoryBandwidth);

} // namespace tessera

#endif // TESSERA_PLANNING_DEVICEFIGURES_H
