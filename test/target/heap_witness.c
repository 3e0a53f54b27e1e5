/*
 * A library to preload behind the client. It counts what a program's heap holds, independently of
 * the client.
 *
 * It knows the size of each live block. The sums of each process are in a file of its own,
 * $HEAP_WITNESS.PID, which is mapped shared, so that they survive however the process ends. A
 * forked child begins with the inherited blocks, which count as allocated in it. A test may write
 * another epoch into the file: sums of blocks allocated after that are kept separately.
 *
 * It calls glibc by names that no library interposes. test/e2e/fork_servers.py reads the file.
 *
 * Threads   one lock for everything. The process must not fork while another thread allocates.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS (UINT64_C(1) << 21)
#define PLACE "HEAP_WITNESS"

struct sums {
    int64_t live_bytes, live_count, alloc_bytes, alloc_count;
};

struct witness_file {
    uint64_t epoch; /* 0, or 1: written by the test */
    struct sums sums[2];
};

struct slot {
    uintptr_t addr; /* 0: the slot is free */
    uint64_t size_bytes : 63;
    uint64_t epoch : 1;
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *ptr);

static struct witness_file nowhere, *file = &nowhere;
static struct witness_file at_fork; /* copy of the sums: the parent continues to count in its
                                     * file */
static struct slot *slots;
static unsigned char lock;
static char place[512];

static void enter(void)
{
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
    }
}

static void leave(void)
{
    __atomic_clear(&lock, __ATOMIC_RELEASE);
}

/* --- the file --------------------------------------------------------------------------------- */

static void open_file(void)
{
    char path[600];
    snprintf(path, sizeof(path), "%s.%d", place, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(*file)) == 0) {
        map = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    if (map == MAP_FAILED) {
        abort();
    }
    memcpy(map, file, sizeof(*file));
    file = map;
}

static void prepare(void)
{
    enter();
    at_fork = *file;
}

static void begin_child(void)
{
    for (int i = 0; i < 2; i++) {
        at_fork.sums[i].alloc_bytes = at_fork.sums[i].live_bytes;
        at_fork.sums[i].alloc_count = at_fork.sums[i].live_count;
    }
    file = &at_fork;
    open_file();
    leave();
}

__attribute__((constructor(101))) static void begin(void)
{
    if (getenv(PLACE)) {
        snprintf(place, sizeof(place), "%s", getenv(PLACE));
        open_file();
        pthread_atfork(prepare, leave, begin_child);
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static uint64_t home_of(uintptr_t addr)
{
    return (addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 43 & (SLOTS - 1);
}

static void note(uintptr_t addr, size_t size_bytes)
{
    if (!slots) {
        slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slots == MAP_FAILED) {
            abort();
        }
    }
    uint64_t i = home_of(addr);
    while (slots[i].addr) {
        i = (i + 1) & (SLOTS - 1);
    }
    uint64_t epoch = file->epoch & 1;
    slots[i] = (struct slot){ addr, size_bytes & INT64_MAX, epoch };
    struct sums *sums = &file->sums[epoch];
    sums->live_bytes += (int64_t)size_bytes;
    sums->alloc_bytes += (int64_t)size_bytes;
    sums->live_count++;
    sums->alloc_count++;
}

/* Moves the entries behind the gap up, as far as possible. */
static void close_gap(uint64_t gap)
{
    for (uint64_t i = (gap + 1) & (SLOTS - 1); slots[i].addr; i = (i + 1) & (SLOTS - 1)) {
        uint64_t home = home_of(slots[i].addr);
        if (((i - home) & (SLOTS - 1)) >= ((i - gap) & (SLOTS - 1))) {
            slots[gap] = slots[i];
            gap = i;
        }
    }
    slots[gap].addr = 0;
}

/* Removes the block and returns its entry; address 0: it was unknown. */
static struct slot forget(uintptr_t addr)
{
    struct slot was = { 0 };
    if (!addr || !slots) {
        return was;
    }
    uint64_t i = home_of(addr);
    while (slots[i].addr && slots[i].addr != addr) {
        i = (i + 1) & (SLOTS - 1);
    }
    if (slots[i].addr) {
        was = slots[i];
        struct sums *sums = &file->sums[was.epoch];
        sums->live_bytes -= (int64_t)was.size_bytes;
        sums->live_count--;
        close_gap(i);
    }
    return was;
}

static void *got(void *ptr, size_t size_bytes)
{
    if (ptr) {
        enter();
        note((uintptr_t)ptr, size_bytes);
        leave();
    }
    return ptr;
}

/* --- what programs call ----------------------------------------------------------------------- */

void *malloc(size_t size)
{
    return got(__libc_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
    return got(__libc_calloc(count, size), count * size);
}

void free(void *ptr)
{
    enter();
    forget((uintptr_t)ptr);
    leave();
    __libc_free(ptr);
}

void *realloc(void *old, size_t size)
{
    enter();
    struct slot was = forget((uintptr_t)old);
    void *ptr = __libc_realloc(old, size);
    if (ptr) {
        note((uintptr_t)ptr, size);
    } else if (was.addr && size > 0) {
        /* The block stays live; it was not allocated just now. */
        struct sums *sums = &file->sums[file->epoch & 1];
        note(was.addr, was.size_bytes);
        sums->alloc_bytes -= (int64_t)was.size_bytes;
        sums->alloc_count--;
    }
    leave();
    return ptr;
}

void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

void *memalign(size_t alignment, size_t size)
{
    return got(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret_ptr, size_t alignment, size_t size)
{
    void *ptr = memalign(alignment, size);
    if (!ptr) {
        return ENOMEM;
    }
    *ret_ptr = ptr;
    return 0;
}
