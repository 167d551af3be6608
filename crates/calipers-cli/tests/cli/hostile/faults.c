/* Faults at a chosen call of the C library: a test compiles this file and preloads it into the
 * command (LD_PRELOAD).
 *
 *     CALIPERS_FAULT=KIND:N    what happens at the N-th call, counted from 1; 0 counts alone
 *     CALIPERS_FAULT_UNDER=DIR only calls on files in this folder count
 *     CALIPERS_FAULT_COUNT=F   the number of calls is written to this file at the end
 *
 * Kinds that count calls that change files: kill (SIGKILL before the call), interrupt (SIGINT),
 * terminate (SIGTERM), full (the call fails with ENOSPC), full-on (so do all that write after it),
 * vanish (the folder is renamed). Kinds that count reads: eio (the read fails), eintr (the read is
 * interrupted), short (the read gives one byte), shrink (the file loses its second half first).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long n_calls;
static long fault_at;
static const char *kind = "", *under = "";

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("CALIPERS_FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    if (!colon)
        return;
    kind = strndup(fault, colon - fault);
    fault_at = atol(colon + 1);
    under = getenv("CALIPERS_FAULT_UNDER");
    under = under ? strdup(under) : "/";
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("CALIPERS_FAULT_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", (long)atomic_load(&n_calls));
        fclose(file);
    }
}

static int is(const char *name)
{
    return strcmp(kind, name) == 0;
}

static int counts_reads(void)
{
    return is("eio") || is("eintr") || is("short") || is("shrink");
}

static int is_under(const char *path)
{
    return path && *kind && strncmp(path, under, strlen(under)) == 0;
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return 1;
}

/* Whether a call that changes a file has to fail; errno is set. `writes`: it needs space. */
static int change(const char *path, int writes)
{
    if (counts_reads() || !is_under(path))
        return 0;
    long number = atomic_fetch_add(&n_calls, 1) + 1;
    if (fault_at == 0 || number < fault_at)
        return 0;
    if (number > fault_at && !(is("full-on") && writes))
        return 0;
    if (is("kill"))
        kill(getpid(), SIGKILL);
    if (is("interrupt"))
        kill(getpid(), SIGINT);
    if (is("terminate"))
        kill(getpid(), SIGTERM);
    if (is("vanish")) {
        char gone[PATH_MAX];
        snprintf(gone, sizeof gone, "%s.gone", under);
        int (*next)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
        next(under, gone);
    }
    if (is("full") || is("full-on")) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

static int change_fd(int fd, int writes)
{
    char path[PATH_MAX];
    return *kind && fd > 2 && path_of(fd, path) && change(path, writes);
}

/* The length of a read: -1 for an error. */
static ssize_t read_length(int fd, size_t length)
{
    char path[PATH_MAX];
    if (!counts_reads() || !path_of(fd, path) || !is_under(path))
        return length;
    long number = atomic_fetch_add(&n_calls, 1) + 1;
    if (fault_at == 0 || number != fault_at)
        return length;
    if (is("eio") || is("eintr")) {
        errno = is("eio") ? EIO : EINTR;
        return -1;
    }
    if (is("shrink")) {
        struct stat status;
        if (stat(path, &status) == 0 && truncate(path, status.st_size / 2) != 0)
            perror("truncate");
        return length;
    }
    return length ? 1 : 0;
}

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *bytes, size_t length)
{
    NEXT(write);
    return change_fd(fd, 1) ? -1 : next(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    NEXT(writev);
    return change_fd(fd, 1) ? -1 : next(fd, parts, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset)
{
    NEXT(pwrite64);
    return change_fd(fd, 1) ? -1 : next(fd, bytes, length, offset);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags)
{
    NEXT(copy_file_range);
    return change_fd(to, 1) ? -1 : next(from, from_at, to, to_at, length, flags);
}

int fsync(int fd)
{
    NEXT(fsync);
    return change_fd(fd, 1) ? -1 : next(fd);
}

int ftruncate64(int fd, off64_t length)
{
    NEXT(ftruncate64);
    return change_fd(fd, 1) ? -1 : next(fd, length);
}

int open64(const char *path, int flags, ...)
{
    NEXT(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return flags & O_CREAT && change(path, 1) ? -1 : next(path, flags, mode);
}

int rename(const char *from, const char *to)
{
    NEXT(rename);
    return change(to, 0) ? -1 : next(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    NEXT(mkdir);
    return change(path, 1) ? -1 : next(path, mode);
}

int unlink(const char *path)
{
    NEXT(unlink);
    return change(path, 0) ? -1 : next(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    NEXT(unlinkat);
    char inside[PATH_MAX];
    int fails = folder >= 0 && path_of(folder, inside) ? change(inside, 0) : change(path, 0);
    return fails ? -1 : next(folder, path, flags);
}

int rmdir(const char *path)
{
    NEXT(rmdir);
    return change(path, 0) ? -1 : next(path);
}

ssize_t read(int fd, void *bytes, size_t length)
{
    NEXT(read);
    ssize_t most = read_length(fd, length);
    return most < 0 ? -1 : next(fd, bytes, most);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset)
{
    NEXT(pread64);
    ssize_t most = read_length(fd, length);
    return most < 0 ? -1 : next(fd, bytes, most, offset);
}
