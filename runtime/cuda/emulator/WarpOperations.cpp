//===- WarpOperations.cpp - Warp operations by definition -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation is a function from the slots of all lanes to their results.
//
//===----------------------------------------------------------------------===//

#include "WarpOperations.h"

#include "Emulator.h"

#include <cstring>

using namespace tessera::emu;

namespace {
struct Slot {
  uint32_t value;
  int source;
  uint32_t result;
};
} // namespace

static Slot *slotOf(void *const *slots, int lane) {
  return static_cast<Slot *>(slots[lane]);
}

static const WarpOperation shuffleOperation{
    "a shuffle", [](void *const *slots) {
      for (int i = 0; i < warpSize; ++i)
        if (slots[i]) {
          // The value of a lane that takes no part is undefined, so it gets an
          // unusual constant.
          Slot *from = slotOf(slots, slotOf(slots, i)->source);
          slotOf(slots, i)->result = from ? from->value : 0xFFF5A5A5u;
        }
    }};

uint32_t tessera::emu::shuffle(uint32_t mask, uint32_t value, int source) {
  Slot slot{value, source & (warpSize - 1), 0};
  warpOperation(shuffleOperation, mask, &slot);
  return slot.result;
}

static const WarpOperation ballotOperation{
    "a ballot", [](void *const *slots) {
      uint32_t votes = 0;
      for (int i = 0; i < warpSize; ++i)
        if (slots[i] && slotOf(slots, i)->value)
          votes |= 1u << i;
      for (int i = 0; i < warpSize; ++i)
        if (slots[i])
          slotOf(slots, i)->result = votes;
    }};

uint32_t tessera::emu::ballot(uint32_t mask, bool vote) {
  Slot slot{vote, 0, 0};
  warpOperation(ballotOperation, mask, &slot);
  return slot.result;
}

static const WarpOperation matchOperation{
    "a match", [](void *const *slots) {
      for (int i = 0; i < warpSize; ++i) {
        if (!slots[i])
          continue;
        uint32_t equal = 0;
        for (int j = 0; j < warpSize; ++j)
          if (slots[j] && slotOf(slots, j)->value == slotOf(slots, i)->value)
            equal |= 1u << j;
        slotOf(slots, i)->result = equal;
      }
    }};

uint32_t tessera::emu::matchAny(uint32_t mask, uint32_t value) {
  Slot slot{value, 0, 0};
  warpOperation(matchOperation, mask, &slot);
  return slot.result;
}

static const WarpOperation barrierOperation{"a warp barrier",
                                            [](void *const *) {}};

void tessera::emu::warpBarrier(uint32_t mask) {
  warpOperation(barrierOperation, mask, nullptr);
}

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

namespace {
struct LoadSlot {
  const void *row;
  bool transposed;
  uint32_t result[4];
};
struct MultiplySlot {
  float *d;
  const uint32_t *a, *b;
  bool isF16;
};
} // namespace

static const WarpOperation loadOperation{
    "a load of matrices", [](void *const *slots) {
      uint16_t matrix[4][8][8];
      for (int i = 0; i < warpSize; ++i)
        memcpy(matrix[i / 8][i % 8], static_cast<LoadSlot *>(slots[i])->row,
               16);
      for (int i = 0; i < warpSize; ++i) {
        auto *slot = static_cast<LoadSlot *>(slots[i]);
        int row = i / 4, column = 2 * (i % 4);
        for (int m = 0; m < 4; ++m) {
          uint16_t low = slot->transposed ? matrix[m][column][row]
                                          : matrix[m][row][column];
          uint16_t high = slot->transposed ? matrix[m][column + 1][row]
                                           : matrix[m][row][column + 1];
          slot->result[m] = uint32_t(low) | uint32_t(high) << 16;
        }
      }
    }};

void tessera::emu::loadMatrices(uint32_t result[4], const void *row,
                                bool transposed) {
  LoadSlot slot{row, transposed, {}};
  if (reinterpret_cast<uintptr_t>(row) % 16)
    kernelFault("a load of matrices expects rows at multiples of 16 bytes");
  // Reads the row here, so that a fault names the lane.
  static_cast<void>(*static_cast<const volatile char *>(row));
  warpOperation(loadOperation, ~0u, &slot);
  memcpy(result, slot.result, sizeof(slot.result));
}

static float widen(uint32_t word, int half, bool isF16) {
  uint32_t bits = half ? word & 0xFFFF0000u : word << 16;
  if (isF16) {
    uint16_t upper = uint16_t(bits >> 16);
    _Float16 number;
    memcpy(&number, &upper, 2);
    return float(number);
  }
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static const WarpOperation multiplyOperation{
    "a matrix multiply", [](void *const *slots) {
      float a[16][16], b[16][8];
      for (int i = 0; i < warpSize; ++i) {
        const auto *slot = static_cast<MultiplySlot *>(slots[i]);
        int row = i / 4, pair = 2 * (i % 4);
        for (int half = 0; half < 2; ++half) {
          auto number = [&](uint32_t word) {
            return widen(word, half, slot->isF16);
          };
          a[row][pair + half] = number(slot->a[0]);
          a[row + 8][pair + half] = number(slot->a[1]);
          a[row][pair + 8 + half] = number(slot->a[2]);
          a[row + 8][pair + 8 + half] = number(slot->a[3]);
          b[pair + half][row] = number(slot->b[0]);
          b[pair + 8 + half][row] = number(slot->b[1]);
        }
      }
      for (int i = 0; i < warpSize; ++i) {
        auto *slot = static_cast<MultiplySlot *>(slots[i]);
        for (int e = 0; e < 4; ++e) {
          int row = i / 4 + (e / 2) * 8, column = 2 * (i % 4) + e % 2;
          float sum = 0;
          for (int k = 0; k < 16; ++k)
            sum += a[row][k] * b[k][column];
          slot->d[e] += sum;
        }
      }
    }};

void tessera::emu::multiplyMatrices(float d[4], const uint32_t a[4],
                                    const uint32_t b[2], bool isF16) {
  MultiplySlot slot{d, a, b, isF16};
  warpOperation(multiplyOperation, ~0u, &slot);
}
