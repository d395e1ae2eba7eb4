/* Faults at system calls, for a process that loads this with LD_PRELOAD and arms it.
 *
 * Calls that change files below a folder, or lock them, are counted. At call number `at` (and at all later ones
 * that write, if `sticky`: a disk stays full) the process gets a signal, or the call an error. `when` says whether
 * that happens before the call is done or after it: after, the call has succeeded and reports an error all the same.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long at, counted;
static int armed, number, when, sticky, is_signal;
static char log_of_calls[1 << 16];

void fault_arm(const char *place, long at_call, int signalled, int value, int after, int stays) {
    strncpy(folder, place, sizeof folder - 1);
    at = at_call, is_signal = signalled, number = value, when = after, sticky = stays;
    counted = 0, log_of_calls[0] = 0, armed = 1;
}

long fault_count(void) { return counted; }
const char *fault_calls(void) { return log_of_calls; }

static int inside(const char *path) {
    char full[PATH_MAX];
    if (!path) return 0;
    if (path[0] != '/') {
        if (!getcwd(full, sizeof full)) return 0;
        path = full;
    }
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int inside_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return inside(path);
}

/* Count a call; say whether it is the one. */
static int hit(const char *name, int writes) {
    counted++;
    size_t used = strlen(log_of_calls);
    if (used + strlen(name) + 2 < sizeof log_of_calls) {
        strcat(log_of_calls, name);
        strcat(log_of_calls, " ");
    }
    if (at <= 0) return 0;
    return counted == at || (sticky && writes && counted > at);
}

static int strike(void) {
    if (is_signal) {
        raise(number);
        return 0;
    }
    errno = number;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* The call itself, with the fault before or after it. */
#define FAULTY(concerned, name, writes, type, call) \
    do { \
        if (!armed || !(concerned)) return call; \
        int is_it = hit(name, writes); \
        if (is_it && !when && strike()) return -1; \
        type found = call; \
        if (is_it && when && strike()) return -1; \
        return found; \
    } while (0)

static int opened(const char *path, int flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && inside(path);
}

#define OPEN(symbol, text) \
    int symbol(const char *path, int flags, ...) { \
        mode_t mode = 0; \
        if (flags & O_CREAT) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        REAL(int, text, const char *, int, ...); \
        FAULTY(opened(path, flags), "open", 1, int, real(path, flags, mode)); \
    }
OPEN(open, "open")
OPEN(open64, "open64")

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    FAULTY(inside_fd(fd), "write", 1, ssize_t, real(fd, data, size));
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    FAULTY(inside_fd(fd), "fsync", 1, int, real(fd));
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    FAULTY(inside(to), "rename", 0, int, real(from, to));
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    FAULTY(inside(path), "mkdir", 1, int, real(path, mode));
}
int rmdir(const char *path) {
    REAL(int, "rmdir", const char *);
    FAULTY(inside(path), "rmdir", 0, int, real(path));
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    FAULTY(inside(path), "unlink", 0, int, real(path));
}
int unlinkat(int fd, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    FAULTY(inside_fd(fd), "unlinkat", 0, int, real(fd, path, flags));
}
int chmod(const char *path, mode_t mode) {
    REAL(int, "chmod", const char *, mode_t);
    FAULTY(inside(path), "chmod", 0, int, real(path, mode));
}
int flock(int fd, int operation) {
    REAL(int, "flock", int, int);
    FAULTY(inside_fd(fd), "flock", 0, int, real(fd, operation));
}
