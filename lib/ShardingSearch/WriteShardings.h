//===- WriteShardings.h - A solution as seeds -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_WRITESHARDINGS_H
#define TESSERA_LIB_SHARDINGSEARCH_WRITESHARDINGS_H

#include "ProgramReader.h"

namespace tessera {

/// Writes closed seeds, dist.factors, dist.exact and dist.apart.
void writeShardings(const ProgramReader &program,
                    const ShardingSolution &solution, dist::MeshOp mesh);

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_WRITESHARDINGS_H
