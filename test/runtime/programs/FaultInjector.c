/*===-- FaultInjector.c - File operations that fail ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * A library to be loaded before the C library (LD_PRELOAD). It counts the file
 * operations below a path, in a process and all its forks; one of them fails:
 *
 *   FAULT_BELOW   count operations on paths that begin so
 *   FAULT_AT      the number of the operation, from 1
 *   FAULT_KIND    kill: SIGKILL to the process and its group, before the
 *                 operation; an error number: the operation fails with it
 *   FAULT_LOG     append a line for each: "open PATH", "fsync PATH", ...
 *   FAULT_NO_EXCHANGE  renameat2 is not supported, as on NFS
 *   FAULT_NO_LOCKS     nor are locks of files
 *   FAULT_ROOM         a file system has so many free bytes
 *   FAULT_SLOW    a write takes so many microseconds longer
 *   FAULT_SLOW_SYNC  so does an fsync
 *   FAULT_POWER   append a line for each operation that a loss of power may
 *                 undo, or that an fsync covers, once it is done: "create
 *                 PATH", "mkdir PATH", "rename FROM TO", "unlink PATH COPY",
 *                 "rmdir PATH", "synced PATH BYTES". COPY keeps the contents
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 1024
static _Atomic int *counter;
/* Paths of open files that count. */
static char paths[FILES][256];

__attribute__((constructor)) static void begin(void) {
  counter = mmap(0, sizeof(*counter), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int counts(const char *path) {
  const char *below = getenv("FAULT_BELOW");
  return counter && below && path && strncmp(path, below, strlen(below)) == 0;
}

static void writeLine(const char *name, const char *operation,
                      const char *path) {
  char line[1024];
  int length = snprintf(line, sizeof(line), "%s %s\n", operation, path);
  if (!name || length >= (int)sizeof(line))
    return;
  long fd =
      syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0666);
  syscall(SYS_write, fd, line, length);
  syscall(SYS_close, fd);
}

static void writeLog(const char *operation, const char *path) {
  writeLine(getenv("FAULT_LOG"), operation, path);
}

/* Records an operation that has succeeded; returns its result. */
static int done(int result, const char *operation, const char *path,
                const char *more) {
  char text[512];
  int error = errno;
  snprintf(text, sizeof(text), *more ? "%s %s" : "%s", path, more);
  if (result >= 0 && counts(path))
    writeLine(getenv("FAULT_POWER"), operation, text);
  errno = error;
  return result;
}

/* Returns the error that an operation on `path` fails with, or 0. */
static int fails(const char *operation, const char *path) {
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
  int number;
  if (!counts(path))
    return 0;
  writeLog(operation, path);
  number = atomic_fetch_add(counter, 1) + 1;
  if (!at || !kind || atoi(at) != number)
    return 0;
  if (strcmp(kind, "kill") == 0) {
    kill(0, SIGKILL);
    raise(SIGKILL);
  }
  errno = atoi(kind);
  return errno;
}

static int keep(int fd, const char *path) {
  if (fd >= 0 && fd < FILES)
    snprintf(paths[fd], sizeof(paths[fd]), "%s", counts(path) ? path : "");
  return fd;
}

static const char *pathOf(int fd) {
  return fd >= 0 && fd < FILES ? paths[fd] : "";
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = va_arg(list, int);
  va_end(list);
  if (fails(flags & O_CREAT ? "create" : "open", path))
    return -1;
  int isNew = flags & O_CREAT && access(path, F_OK) != 0;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  return keep(isNew ? done(fd, "create", path, "") : fd, path);
}

int openat(int folder, const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = va_arg(list, int);
  va_end(list);
  char path[512];
  snprintf(path, sizeof(path), "%s/%s", pathOf(folder), name);
  if (fails(flags & O_CREAT ? "create" : "open", path))
    return -1;
  int isNew = flags & O_CREAT && access(path, F_OK) != 0;
  int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
  return keep(isNew ? done(fd, "create", path, "") : fd, path);
}

int close(int fd) {
  keep(fd, "");
  return (int)syscall(SYS_close, fd);
}

static void delay(const char *variable, int fd) {
  if (getenv(variable) && *pathOf(fd))
    usleep((useconds_t)atoi(getenv(variable)));
}

ssize_t write(int fd, const void *data, size_t bytes) {
  if (fails("write", pathOf(fd)))
    return -1;
  delay("FAULT_SLOW", fd);
  return syscall(SYS_write, fd, data, bytes);
}

int fsync(int fd) {
  if (fails("fsync", pathOf(fd)))
    return -1;
  delay("FAULT_SLOW_SYNC", fd);
  char size[32];
  struct stat info;
  snprintf(size, sizeof(size), "%lld",
           fstat(fd, &info) == 0 ? (long long)info.st_size : -1ll);
  return done((int)syscall(SYS_fsync, fd), "synced", pathOf(fd), size);
}

int ftruncate(int fd, off_t size) {
  return fails("ftruncate", pathOf(fd)) ? -1
                                        : (int)syscall(SYS_ftruncate, fd, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  int error = fails("fallocate", pathOf(fd));
  return error ? error : REAL(posix_fallocate)(fd, offset, size);
}

int flock(int fd, int operation) {
  return fails("flock", pathOf(fd)) ? -1
                                    : (int)syscall(SYS_flock, fd, operation);
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (command == F_OFD_SETLK && getenv("FAULT_NO_LOCKS")) {
    errno = ENOLCK;
    return -1;
  }
  return (int)syscall(SYS_fcntl, fd, command, argument);
}

int mkdir(const char *path, mode_t mode) {
  return fails("mkdir", path)
             ? -1
             : done((int)syscall(SYS_mkdir, path, mode), "mkdir", path, "");
}

int rmdir(const char *path) {
  return fails("rmdir", path)
             ? -1
             : done((int)syscall(SYS_rmdir, path), "rmdir", path, "");
}

int unlink(const char *path) {
  if (fails("unlink", path))
    return -1;
  const char *power = getenv("FAULT_POWER");
  if (!power || !counts(path))
    return (int)syscall(SYS_unlink, path);
  static _Atomic int number;
  char copy[512];
  snprintf(copy, sizeof(copy), "%s.%d.%d", power, getpid(),
           atomic_fetch_add(&number, 1));
  return done((int)syscall(SYS_rename, path, copy), "unlink", path, copy);
}

int rename(const char *from, const char *to) {
  return fails("rename", from)
             ? -1
             : done((int)syscall(SYS_rename, from, to), "rename", from, to);
}

int renameat2(int fromFolder, const char *from, int toFolder, const char *to,
              unsigned flags) {
  if (getenv("FAULT_NO_EXCHANGE")) {
    errno = EINVAL;
    return -1;
  }
  if (fails("exchange", from))
    return -1;
  return (int)syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags);
}

int statvfs(const char *path, struct statvfs *space) {
  int result = REAL(statvfs)(path, space);
  if (result == 0 && getenv("FAULT_ROOM") && counts(path))
    space->f_bavail = (fsblkcnt_t)atoll(getenv("FAULT_ROOM")) / space->f_frsize;
  return result;
}

DIR *opendir(const char *path) {
  return fails("opendir", path) ? NULL : REAL(opendir)(path);
}
