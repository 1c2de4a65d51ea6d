/* Records what a process changes in one directory, in order: loaded with LD_PRELOAD, read by power.py.

   While a file `writes` is in the directory RECORDED_FAILS, the file system is read-only; while `syncs` is there, syncs
   fail and do nothing.

   A record is written after the change it describes; that a sync has begun is written before it. Files are named by
   their inodes. What is written through memory maps is not recorded. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    uint32_t magic;
    uint32_t kind;
    uint64_t inode;
    uint64_t offset;
    uint64_t length;
};

enum { WRITES = 1, SIZES, SYNC_BEGINS, SYNC_ENDS, CREATES, UNLINKS, RENAMES, LINKS, MAKES_DIRECTORY, SYNC_FAILS };

static int log_file = -1;
static char directory[PATH_MAX];
static size_t directory_length;
static uint64_t syncs;
static const char *failures;

__attribute__((constructor)) static void begin(void)
{
    const char *place = getenv("RECORDED_DIRECTORY"), *log = getenv("RECORDED_IN");
    if (!place || !log || !realpath(place, directory))
        return;
    directory_length = strlen(directory);
    failures = getenv("RECORDED_FAILS");
    int first = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    log_file = fcntl(first, F_DUPFD_CLOEXEC, 900);
    close(first);
}

static void note(uint32_t kind, uint64_t inode, uint64_t offset, const void *data, uint64_t length)
{
    int before = errno;
    struct record head = {0x4355544f, kind, inode, offset, length};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, data ? length : 0}};
    syscall(SYS_writev, log_file, parts, 2);
    errno = before;
}

static int is_inside(const char *path)
{
    return !strncmp(path, directory, directory_length) && (path[directory_length] == '/' || !path[directory_length]);
}

/* The inode of an open file or directory that is recorded, else 0. */
static uint64_t inode_of(int file)
{
    struct stat facts;
    char name[32], path[PATH_MAX];
    if (log_file < 0 || fstat(file, &facts) || !(S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)))
        return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_inside(path) ? facts.st_ino : 0;
}

/* The whole path of a name that is recorded; the name itself need not be there. */
static int whole(int at, const char *given, char *path)
{
    char parent[PATH_MAX], base[PATH_MAX];
    if (log_file < 0 || !given || strlen(given) >= PATH_MAX - 32)
        return 0;
    if (*given == '/' || at == AT_FDCWD)
        snprintf(parent, sizeof parent, "%s", given);
    else
        snprintf(parent, sizeof parent, "/proc/self/fd/%d/%s", at, given);
    char *slash = strrchr(parent, '/');
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : parent);
    if (slash)
        *slash = 0;
    char real[PATH_MAX];
    if (!realpath(slash ? (*parent ? parent : "/") : ".", real) || !is_inside(real))
        return 0;
    return snprintf(path, PATH_MAX, "%s/%s", real, base) < PATH_MAX;
}

static int fails(const char *what, int error)
{
    char path[PATH_MAX];
    if (!failures || snprintf(path, sizeof path, "%s/%s", failures, what) >= PATH_MAX || access(path, F_OK))
        return 0;
    errno = error;
    return 1;
}

#define READ_ONLY(file) (inode_of(file) && fails("writes", EROFS))
#define REAL(result, name, ...) static result (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

static int opened(int (*open_it)(const char *, int, ...), int at, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    struct stat facts;
    int is_recorded = (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) && whole(at, path, name);
    int was_there = is_recorded && !stat(name, &facts);
    if (is_recorded && fails("writes", EROFS))
        return -1;
    int file = open_it ? open_it(path, flags, mode) : syscall(SYS_openat, at, path, flags, mode);
    if (file < 0 || !is_recorded || fstat(file, &facts) || !S_ISREG(facts.st_mode))
        return file;
    if (!was_there)
        note(CREATES, facts.st_ino, 0, name, strlen(name));
    else if (flags & O_TRUNC)
        note(SIZES, facts.st_ino, 0, NULL, 0);
    return file;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = va_arg(rest, int);                                                                               \
        va_end(rest);                                                                                                  \
        REAL(int, name, const char *, int, ...);                                                                       \
        return opened(real, AT_FDCWD, path, flags, mode);                                                              \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int at, const char *path, int flags, ...)                                                                 \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = va_arg(rest, int);                                                                               \
        va_end(rest);                                                                                                  \
        return opened(NULL, at, path, flags | O_LARGEFILE, mode);                                                      \
    }
OPENAT(openat)
OPENAT(openat64)

#define PWRITE(name, offset_t)                                                                                         \
    ssize_t name(int file, const void *data, size_t length, offset_t offset)                                           \
    {                                                                                                                  \
        REAL(ssize_t, name, int, const void *, size_t, offset_t);                                                      \
        if (READ_ONLY(file))                                                                                           \
            return -1;                                                                                                 \
        ssize_t done = real(file, data, length, offset);                                                               \
        uint64_t inode = done > 0 ? inode_of(file) : 0;                                                                \
        if (inode)                                                                                                     \
            note(WRITES, inode, offset, data, done);                                                                   \
        return done;                                                                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int file, const void *data, size_t length)
{
    if (READ_ONLY(file))
        return -1;
    ssize_t done = syscall(SYS_write, file, data, length);
    uint64_t inode = done > 0 ? inode_of(file) : 0;
    if (inode)
        note(WRITES, inode, lseek(file, 0, SEEK_CUR) - done, data, done);
    return done;
}

#define FTRUNCATE(name, offset_t)                                                                                      \
    int name(int file, offset_t size)                                                                                  \
    {                                                                                                                  \
        REAL(int, name, int, offset_t);                                                                                \
        if (READ_ONLY(file))                                                                                           \
            return -1;                                                                                                 \
        int done = real(file, size);                                                                                   \
        uint64_t inode = done ? 0 : inode_of(file);                                                                    \
        if (inode)                                                                                                     \
            note(SIZES, inode, size, NULL, 0);                                                                         \
        return done;                                                                                                   \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define FALLOCATE(name, offset_t)                                                                                      \
    int name(int file, offset_t offset, offset_t length)                                                               \
    {                                                                                                                  \
        REAL(int, name, int, offset_t, offset_t);                                                                      \
        struct stat facts;                                                                                             \
        if (READ_ONLY(file))                                                                                           \
            return EROFS;                                                                                              \
        int done = real(file, offset, length);                                                                         \
        uint64_t inode = done ? 0 : inode_of(file);                                                                    \
        if (inode && !fstat(file, &facts))                                                                             \
            note(SIZES, inode, facts.st_size, NULL, 0);                                                                \
        return done;                                                                                                   \
    }
FALLOCATE(posix_fallocate, off_t)
FALLOCATE(posix_fallocate64, off64_t)

#define SYNC(name)                                                                                                     \
    int name(int file)                                                                                                 \
    {                                                                                                                  \
        REAL(int, name, int);                                                                                          \
        uint64_t inode = inode_of(file), number = 0;                                                                   \
        if (inode && fails("syncs", EIO)) {                                                                            \
            note(SYNC_FAILS, inode, 0, NULL, 0);                                                                       \
            return -1;                                                                                                 \
        }                                                                                                              \
        if (inode) {                                                                                                   \
            number = (uint64_t)getpid() << 32 | __atomic_add_fetch(&syncs, 1, __ATOMIC_RELAXED);                       \
            note(SYNC_BEGINS, inode, number, NULL, 0);                                                                 \
        }                                                                                                              \
        int done = real(file);                                                                                         \
        if (inode && !done)                                                                                            \
            note(SYNC_ENDS, inode, number, NULL, 0);                                                                   \
        return done;                                                                                                   \
    }
SYNC(fsync)
SYNC(fdatasync)

static int named(int done, uint32_t kind, int at, const char *path, int other_at, const char *other)
{
    char both[2 * PATH_MAX + 1];
    if (done || !whole(at, path, both))
        return done;
    size_t length = strlen(both) + 1;
    if (other && !whole(other_at, other, both + length))
        return done;
    note(kind, 0, 0, both, other ? length + strlen(both + length) : length - 1);
    return done;
}

static int is_read_only(int at, const char *path)
{
    char name[PATH_MAX];
    return whole(at, path, name) && fails("writes", EROFS);
}

int unlinkat(int at, const char *path, int flags)
{
    if (is_read_only(at, path))
        return -1;
    return named(syscall(SYS_unlinkat, at, path, flags), UNLINKS, at, path, 0, NULL);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat(int at, const char *path, int other_at, const char *other)
{
    if (is_read_only(other_at, other))
        return -1;
    return named(syscall(SYS_renameat, at, path, other_at, other), RENAMES, at, path, other_at, other);
}
int rename(const char *path, const char *other) { return renameat(AT_FDCWD, path, AT_FDCWD, other); }

int linkat(int at, const char *path, int other_at, const char *other, int flags)
{
    if (is_read_only(other_at, other))
        return -1;
    return named(syscall(SYS_linkat, at, path, other_at, other, flags), LINKS, at, path, other_at, other);
}
int link(const char *path, const char *other) { return linkat(AT_FDCWD, path, AT_FDCWD, other, 0); }

int mkdirat(int at, const char *path, mode_t mode)
{
    if (is_read_only(at, path))
        return -1;
    return named(syscall(SYS_mkdirat, at, path, mode), MAKES_DIRECTORY, at, path, 0, NULL);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
