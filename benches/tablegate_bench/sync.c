/* Counts and delays what makes files durable, for both servers alike: to be preloaded.
 *
 * BENCH_SYNC names a file of two native 64-bit numbers: how often a file was synced, and the microseconds to wait each
 * time. Whoever writes the second number changes the delay at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t *shared;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("BENCH_SYNC");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, 2 * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) shared = map;
    close(file);
}

static void count(void) {
    if (!shared) return;
    __atomic_add_fetch(&shared[0], 1, __ATOMIC_RELAXED);
    uint64_t micros = shared[1];
    if (micros) {
        struct timespec wait = {(time_t)(micros / 1000000), (long)(micros % 1000000) * 1000};
        nanosleep(&wait, NULL);
    }
}

int fsync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    count();
    return real(file);
}

int fdatasync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    count();
    return real(file);
}
