/*===-- FakeZeroMq.c - A libzmq that cannot be used ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/* Version 4.FAKE_MINOR.0, without encryption. */

void zmq_version(int *major, int *minor, int *patch) {
  *major = 4;
  *minor = FAKE_MINOR;
  *patch = 0;
}

int zmq_has(const char *capability) {
  (void)capability;
  return 0;
}
