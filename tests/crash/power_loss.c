/*
 * A disk that loses power: preloaded into the process that writes, it keeps, for each file of one folder, an image of
 * what was synced. After the process was killed the test puts the images in the place of the files: whatever was
 * written and not synced is gone, as it would be without power.
 *
 * Names are taken for durable at once; what is tested is the syncing of contents. An image is named by the file's
 * inode, so renaming a file needs no attention here.
 *
 *   POWER_LOSS_FOLDER   files below this folder are watched
 *   POWER_LOSS_IMAGES   where the images are
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MAX_DIRTY 4096

/* The bytes of a file that were written since its last sync: from .. to. */
struct dirty {
    ino_t inode;
    off_t from, to;
};

static struct dirty table[MAX_DIRTY];
static int used;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *what) {
    dprintf(2, "power_loss: %s: %s\n", what, strerror(errno));
    abort();
}

/* Whether this is a file of the folder; its inode. */
static int watched(int fd, ino_t *inode) {
    const char *folder = getenv("POWER_LOSS_FOLDER");
    char link[64], path[PATH_MAX];
    struct stat status;
    if (!folder || fstat(fd, &status) || !S_ISREG(status.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    size_t prefix = strlen(folder);
    if (strncmp(path, folder, prefix) || path[prefix] != '/') return 0;
    *inode = status.st_ino;
    return 1;
}

static struct dirty *entry_of(ino_t inode, int make) {
    for (int i = 0; i < used; i++)
        if (table[i].inode == inode) return &table[i];
    if (!make) return NULL;
    if (used == MAX_DIRTY) give_up("too many files");
    table[used] = (struct dirty){inode, LLONG_MAX, 0};
    return &table[used++];
}

static void wrote(int fd, off_t at, ssize_t count) {
    int error = errno;
    ino_t inode;
    if (count > 0 && watched(fd, &inode)) {
        pthread_mutex_lock(&mutex);
        struct dirty *entry = entry_of(inode, 1);
        if (at < entry->from) entry->from = at;
        if (at + count > entry->to) entry->to = at + count;
        pthread_mutex_unlock(&mutex);
    }
    errno = error;
}

/* Brings the image of a file up to the file itself. */
static void synced(int fd) {
    int error = errno;
    ino_t inode;
    if (!watched(fd, &inode)) {
        errno = error;
        return;
    }
    char path[PATH_MAX], buffer[65536];
    struct stat status;
    pthread_mutex_lock(&mutex);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int from = REAL(open)(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/%ju", getenv("POWER_LOSS_IMAGES"), (uintmax_t)inode);
    int to = REAL(open)(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (from < 0 || to < 0 || fstat(from, &status)) give_up(path);
    struct dirty *entry = entry_of(inode, 0);
    off_t at = entry ? entry->from : 0, end = entry ? entry->to : 0;
    while (at < end) {
        size_t want = end - at < (off_t)sizeof buffer ? (size_t)(end - at) : sizeof buffer;
        ssize_t got = REAL(pread)(from, buffer, want, at);
        if (got < 0) give_up("read");
        if (got == 0) break;
        if (REAL(pwrite)(to, buffer, (size_t)got, at) != got) give_up("write");
        at += got;
    }
    if (REAL(ftruncate)(to, status.st_size)) give_up("truncate");
    if (entry) *entry = table[--used];
    close(from);
    close(to);
    pthread_mutex_unlock(&mutex);
    errno = error;
}

/* A new file must not get the image of one that had its inode before. */
static void is_new(int fd) {
    int error = errno;
    ino_t inode;
    struct stat status;
    if (fd >= 0 && watched(fd, &inode) && !fstat(fd, &status) && status.st_size == 0) {
        char path[PATH_MAX];
        pthread_mutex_lock(&mutex);
        struct dirty *entry = entry_of(inode, 0);
        if (entry) *entry = table[--used];
        snprintf(path, sizeof path, "%s/%ju", getenv("POWER_LOSS_IMAGES"), (uintmax_t)inode);
        unlink(path);
        pthread_mutex_unlock(&mutex);
    }
    errno = error;
}

static off_t position(int fd, int count_from_end) {
    struct stat status;
    if (count_from_end) return fstat(fd, &status) ? 0 : status.st_size;
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 ? 0 : at;
}

static int appends(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_APPEND);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    int error = errno;
    off_t at = position(fd, appends(fd));
    errno = error;
    ssize_t written = REAL(write)(fd, bytes, count);
    wrote(fd, at, written);
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    int error = errno;
    off_t at = position(fd, appends(fd));
    errno = error;
    ssize_t written = REAL(writev)(fd, parts, count);
    wrote(fd, at, written);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    ssize_t written = REAL(pwrite64)(fd, bytes, count, at);
    wrote(fd, at, written);
    return written;
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        __builtin_va_list arguments;
        __builtin_va_start(arguments, flags);
        mode = __builtin_va_arg(arguments, mode_t);
        __builtin_va_end(arguments);
    }
    int fd = REAL(open64)(path, flags, mode);
    if (flags & O_CREAT) is_new(fd);
    return fd;
}

int fdatasync(int fd) {
    int result = REAL(fdatasync)(fd);
    if (!result) synced(fd);
    return result;
}

int fsync(int fd) {
    int result = REAL(fsync)(fd);
    if (!result) synced(fd);
    return result;
}
