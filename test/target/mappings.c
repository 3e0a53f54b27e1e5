/*
 * Threads that map, split, move, protect and unmap memory at random, and compare at each round what
 * the client has recorded in its region with what the kernel says.
 *
 *     mappings THREADS ROUNDS STEPS SEED     STEPS of each thread in each round
 *
 * Each thread works in a window of its own at a fixed address, where no other thread maps, and
 * with mappings whose place the kernel chooses. At the end of a round all threads wait, and the
 * first one compares. The records are read where the client has mapped them: the last field of the
 * region's header that is used here has the same place in every version.
 *
 * Prints "ROUNDS rounds, COUNT ranges, BYTES bytes"; exits with 1 at the first difference, and with
 * 2 if there is no region.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fmt/region_layout.h"

#define PAGE         4096ul
#define WINDOW       ((char *)0x200000000000)
#define WINDOW_PAGES 2048ul
#define THREADS_MAX  8
#define FREE_MAX     64
#define RANGES_MAX   409600 /* whole pages of them */

struct range {
    uint64_t start, end;
};

static int thread_count, round_count, step_count, file, memory;
static pthread_barrier_t barrier;
static struct range *recorded, *expected; /* mapped before the first round */

/* Mappings whose place the kernel chose. */
static struct {
    char *at;
    size_t pages;
} own[THREADS_MAX][FREE_MAX];

/* --- random calls ----------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static int some_access(uint64_t random)
{
    static const int accesses[] = { PROT_READ | PROT_WRITE, PROT_READ, PROT_READ | PROT_EXEC,
                                    PROT_READ | PROT_WRITE };
    return accesses[random % 4];
}

__attribute__((noinline)) static void in_window(char *window, uint64_t *random)
{
    uint64_t page = next(random) % WINDOW_PAGES, pages = 1 + next(random) % 24;
    pages = page + pages < WINDOW_PAGES ? pages : WINDOW_PAGES - page;
    uint64_t other = next(random) % (WINDOW_PAGES - 48), more = 1 + next(random) % 24;
    char *at = window + page * PAGE, *to = window + other * PAGE;
    size_t bytes = pages * PAGE - next(random) % 2 * 100; /* the kernel rounds it up */
    int kind = MAP_FIXED | (next(random) % 4 ? MAP_PRIVATE : MAP_SHARED);
    switch (next(random) % 14) {
    case 0:
    case 1:
    case 2:
        mmap(at, bytes, some_access(next(random)), kind | MAP_ANONYMOUS, -1, 0);
        break;
    case 3:
        mmap(at, bytes, PROT_NONE, kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        break;
    case 4: /* over what is there, unless something is */
        mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        break;
    case 5:
        mmap(at, bytes, PROT_READ, MAP_FIXED | MAP_PRIVATE, next(random) % 2 ? file : memory, 0);
        break;
    case 6:
        munmap(at, bytes);
        break;
    case 7:
        munmap(at + 1, bytes); /* it fails */
        syscall(SYS_munmap, at, bytes);
        break;
    case 8: /* these fail at a hole, and have then changed a part */
        mprotect(at, bytes, PROT_NONE);
        break;
    case 9:
        mprotect(at, bytes, some_access(next(random)));
        break;
    case 10:
        mremap(at, pages * PAGE, more * PAGE, 0);
        break;
    case 11:
        if (other + more < page || other > page + pages) {
            mremap(at, pages * PAGE, more * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
        }
        break;
    case 12:
        madvise(at, bytes, next(random) % 2 ? MADV_DONTNEED : MADV_FREE);
        break;
    default:
        syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0L);
        syscall(SYS_mprotect, at, PAGE, next(random) % 2 ? PROT_NONE : PROT_READ);
    }
}

__attribute__((noinline)) static void anywhere(int thread, uint64_t *random)
{
    unsigned i = next(random) % FREE_MAX;
    size_t pages = 1 + next(random) % 64;
    char *at = own[thread][i].at;
    if (!at) {
        at =
            mmap(NULL, pages * PAGE, some_access(next(random)), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        own[thread][i].at = at == MAP_FAILED ? NULL : at;
        own[thread][i].pages = pages;
    } else if (next(random) % 2) {
        at = mremap(at, own[thread][i].pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
        own[thread][i].at = at == MAP_FAILED ? own[thread][i].at : at;
        own[thread][i].pages = at == MAP_FAILED ? own[thread][i].pages : pages;
    } else if (own[thread][i].pages > 3 && next(random) % 2) {
        munmap(at, 2 * PAGE); /* its beginning */
        own[thread][i].at += 2 * PAGE;
        own[thread][i].pages -= 2;
    } else {
        munmap(at, own[thread][i].pages * PAGE);
        own[thread][i].at = NULL;
    }
}

/* --- what the client has recorded ------------------------------------------------------------- */

struct view {
    const char *at;
    uint64_t bytes;
};

/* Reads /proc/self/maps without any memory but this. */
static char maps[1 << 24];

static size_t read_maps(void)
{
    size_t got = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t more;
    while ((more = read(fd, maps + got, sizeof(maps) - 1 - got)) > 0) {
        got += (size_t)more;
    }
    close(fd);
    maps[got] = '\0';
    return got;
}

/* The longest mapping of the region's file that begins at this offset. */
static struct view view_at(uint64_t offset)
{
    struct view view = { NULL, 0 };
    for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
        char *at;
        uint64_t start = strtoull(line, &at, 16), end = strtoull(at + 1, &at, 16);
        const char *name = strstr(line, "/memfd:heapscope"), *newline = strchr(line, '\n');
        if (name && name < newline && strtoull(at + 6, &at, 16) == offset &&
            end - start > view.bytes) {
            view = (struct view){ (const char *)start, end - start };
        }
    }
    return view;
}

static const struct hs_region_header_v2 *header(void)
{
    struct view view = view_at(HS_REGION_CONTROL_OFF);
    return view.bytes > HS_REGION_HEADER_OFF ? (const void *)(view.at + HS_REGION_HEADER_OFF)
                                             : (const void *)view_at(HS_REGION_HEADER_OFF).at;
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts ranges, and joins those that touch. */
static size_t join(struct range *ranges, size_t count)
{
    size_t kept = 0;
    qsort(ranges, count, sizeof(ranges[0]), by_start);
    for (size_t i = 0; i < count; i++) {
        if (kept && ranges[kept - 1].end == ranges[i].start) {
            ranges[kept - 1].end = ranges[i].end;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

static size_t read_recorded(void)
{
    const struct hs_region_header_v2 *head = header();
    if (!head) {
        fputs("there is no region\n", stderr);
        exit(2);
    }
    struct view heaps = view_at(head->sections[HS_SECTION_HEAPS].file_off);
    struct view stacks = view_at(head->sections[HS_SECTION_STACKS].file_off);
    struct view records = view_at(head->sections[HS_SECTION_RECORDS].file_off);
    const struct hs_record_v1 *record = (const void *)records.at;
    size_t count = 0;
    for (uint64_t i = 0; i < head->sections[HS_SECTION_RECORDS].count; i++) {
        if (HS_RECORD_STATE(record[i].word) == HS_RECORD_ALIVE) {
            const struct hs_stack_v1 *stack = (const void *)stacks.at;
            uint8_t heap = stack[record[i].stack_id].heap_id;
            uint64_t bytes = HS_RECORD_SIZE(record[i].size_thread);
            if (strcmp(((const struct hs_heap_v2 *)(const void *)heaps.at)[heap].name, "mmap") ==
                0) {
                recorded[count++] = (struct range){ record[i].addr, record[i].addr + bytes };
            }
        }
    }
    return join(recorded, count);
}

/* --- what the kernel says --------------------------------------------------------------------- */

static size_t read_expected(void)
{
    size_t count = 0;
    for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
        char *at;
        struct range range = { strtoull(line, &at, 16), 0 };
        range.end = strtoull(at + 1, &at, 16);
        const char *name = strstr(line, "/mappings"), *newline = strchr(line, '\n');
        if (range.start >= (uint64_t)WINDOW && range.start < (uint64_t)WINDOW + (1ul << 40) &&
            strncmp(at + 1, "---", 3) != 0 && !(name && name < newline)) {
            expected[count++] = range;
        }
    }
    for (int i = 0; i < thread_count; i++) {
        for (int j = 0; j < FREE_MAX; j++) {
            uint64_t start = (uint64_t)own[i][j].at;
            if (start) {
                expected[count++] = (struct range){ start, start + own[i][j].pages * PAGE };
            }
        }
    }
    expected[count++] = (struct range){ (uint64_t)recorded, (uint64_t)(recorded + RANGES_MAX) };
    expected[count++] = (struct range){ (uint64_t)expected, (uint64_t)(expected + RANGES_MAX) };
    return join(expected, count);
}

static void compare(int round)
{
    static char *last;
    /* One more call: the one before may have failed halfway, which the next one finds out. */
    if (last) {
        munmap(last, PAGE);
    }
    last = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(last, PAGE);
    read_maps();
    size_t count = read_recorded(), wanted = read_expected();
    uint64_t bytes = 0;
    for (size_t i = 0; i < count || i < wanted; i++) {
        if (i >= count || i >= wanted || recorded[i].start != expected[i].start ||
            recorded[i].end != expected[i].end) {
            printf("round %d: range %zu is %lx-%lx, and should be %lx-%lx\n", round, i,
                   i < count ? recorded[i].start : 0, i < count ? recorded[i].end : 0,
                   i < wanted ? expected[i].start : 0, i < wanted ? expected[i].end : 0);
            exit(1);
        }
        bytes += recorded[i].end - recorded[i].start;
    }
    if (round + 1 == round_count) {
        printf("%d rounds, %zu ranges, %lu bytes\n", round_count, count, bytes);
    }
    last = NULL;
}

static void *run(void *arg)
{
    int thread = (int)(intptr_t)arg;
    uint64_t random = (uint64_t)thread * 1000 + 1;
    char *window = WINDOW + (size_t)thread * 2 * WINDOW_PAGES * PAGE;
    for (int round = 0; round < round_count; round++) {
        for (int i = 0; i < step_count; i++) {
            if (next(&random) % 4) {
                in_window(window, &random);
            } else {
                anywhere(thread, &random);
            }
        }
        pthread_barrier_wait(&barrier);
        if (thread == 0) {
            compare(round);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    if (argc < 5) {
        return 2;
    }
    thread_count = atoi(argv[1]);
    round_count = atoi(argv[2]);
    step_count = atoi(argv[3]);
    file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    memory = memfd_create("memory", MFD_CLOEXEC);
    if (file < 0 || memory < 0 || ftruncate(memory, 64 * PAGE) != 0) {
        return 2;
    }
    recorded = mmap(NULL, RANGES_MAX * sizeof(*recorded), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expected = mmap(NULL, RANGES_MAX * sizeof(*expected), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count);
    for (int i = 1; i < thread_count; i++) {
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    }
    run(NULL);
    for (int i = 1; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
