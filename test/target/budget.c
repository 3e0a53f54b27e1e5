/*
 * Programs that cost a profiler much.
 *
 *   budget grow COUNT     a heap that only grows: COUNT blocks of 16 to 400 bytes; frees one of 16
 *                         at once
 *   budget steps COUNT    the same in ten steps; a line on standard input starts each
 *   budget forks COUNT    the same, half of it in a forked child
 *   budget busy SECONDS WORK [THREADS]   allocates and frees at two depths, with WORK rounds of
 *                         arithmetic in between. It alternates between malloc and libc's own
 *                         function, at the address that libc's file gives. Prints for each half
 *                         second how much longer malloc takes than libc's function, in percent of
 *                         the latter
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

SITE(site_small, malloc(n))
SITE(site_medium, malloc(n))
SITE(site_freed, malloc(n))

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void keep(void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static void grow(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t r = next_random(&random_state);
        size_t n = 16 + r % 112;
        if (i % 16 == 0) {
            n = 16 + r % 384;
            SITE_FREE(site_freed, site_freed(n), n);
        } else if (i % 4 == 0) {
            keep(site_medium(200 + r % 200));
        } else {
            keep(site_small(n));
        }
    }
}

static int grow_in_two(unsigned count)
{
    int status = 0;
    grow(count / 2);
    pid_t pid = truth_fork();
    if (pid == 0) {
        grow(count / 2);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status != 0;
}

/* --- busy ------------------------------------------------------------------------------------- */

#define TURN_OPS 2000
#define HELD     64

struct allocator {
    void *(*allocate)(size_t n);
    void (*release)(void *p);
};

/*
 * Finds the C library's own function at the address that its file gives, so that no profiler
 * intercepts it.
 */
static void *find_unseen(const char *name)
{
    struct link_map *map = NULL;
    struct stat st;
    void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    int fd =
        handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? open(map->l_name, O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        abort();
    }
    const char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const ElfW(Ehdr) *header = (const void *)file;
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Sym) *symbols = (const void *)(file + sections[i].sh_offset);
        const char *strings = file + sections[sections[i].sh_link].sh_offset;
        size_t count =
            sections[i].sh_type == SHT_DYNSYM ? sections[i].sh_size / sizeof(*symbols) : 0;
        for (size_t k = 0; k < count; k++) {
            if (strcmp(strings + symbols[k].st_name, name) == 0 && symbols[k].st_value != 0) {
                return (char *)map->l_addr + symbols[k].st_value;
            }
        }
    }
    abort();
}

struct busy {
    unsigned seconds, work;
    int is_telling;
};

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static __attribute__((noinline)) void *shallow(const struct allocator *a, size_t n)
{
    void *p = a->allocate(n);
    __asm__ volatile("" : "+r"(p));
    return p;
}

static __attribute__((noinline)) void *deep(const struct allocator *a, size_t n, unsigned depth)
{
    void *p = depth ? deep(a, n, depth - 1) : shallow(a, n);
    __asm__ volatile("" : "+r"(p));
    return p;
}

static __attribute__((noinline)) uint64_t turn(const struct allocator *a, uint64_t *state,
                                               void **held, unsigned work)
{
    uint64_t begin = cpu_ns(), worked = *state;
    for (unsigned i = 0; i < TURN_OPS; i++) {
        uint64_t r = next_random(state);
        size_t n = 32 + r % 992;
        void **slot = &held[(r >> 32) % HELD];
        a->release(*slot);
        *slot = r & 1 << 20 ? shallow(a, n) : deep(a, n, r >> 21 & 15);
        /* The work stays in registers: the time of a chain of loads from stores just made depends
         * on what the CPU predicts, and that changes for long after each sample. */
        for (unsigned k = 0; k < work; k++) {
            worked ^= worked << 13;
            worked ^= worked >> 7;
            worked ^= worked << 17;
            __asm__ volatile("" : "+r"(worked));
        }
    }
    return cpu_ns() - begin;
}

static void *be_busy(void *arg)
{
    const struct busy *busy = arg;
    const struct allocator seen = { malloc, free };
    struct allocator unseen;
    *(void **)&unseen.allocate = find_unseen("malloc");
    *(void **)&unseen.release = find_unseen("free");
    void *held_seen[HELD] = { 0 }, *held_unseen[HELD] = { 0 };
    uint64_t state = 88172645463325252ULL + (uintptr_t)&state;
    for (unsigned half = 0; half < 2 * busy->seconds; half++) {
        uint64_t seen_ns = 0, unseen_ns = 0, turns = 0;
        while (seen_ns + unseen_ns < 500000000) {
            /* The order of both changes each time, so that neither always finds warm caches. */
            if (turns++ & 1) {
                seen_ns += turn(&seen, &state, held_seen, busy->work);
                unseen_ns += turn(&unseen, &state, held_unseen, busy->work);
            } else {
                unseen_ns += turn(&unseen, &state, held_unseen, busy->work);
                seen_ns += turn(&seen, &state, held_seen, busy->work);
            }
        }
        if (busy->is_telling) {
            printf("%.3f %.0f\n", ((double)seen_ns / (double)unseen_ns - 1) * 100,
                   (double)unseen_ns / (double)(turns * TURN_OPS));
            fflush(stdout);
        }
    }
    for (unsigned i = 0; i < HELD; i++) {
        free(held_seen[i]);
        unseen.release(held_unseen[i]);
    }
    return NULL;
}

static int run_busy(unsigned seconds, unsigned work, unsigned threads)
{
    struct busy quiet = { seconds, work, 0 }, telling = { seconds, work, 1 };
    pthread_t ids[64];
    for (unsigned i = 1; i < threads && i < 64; i++) {
        pthread_create(&ids[i], NULL, be_busy, &quiet);
    }
    be_busy(&telling);
    for (unsigned i = 1; i < threads && i < 64; i++) {
        pthread_join(ids[i], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char line[64];
    static char out[64];
    if (argc > 3 && strcmp(argv[1], "busy") == 0) {
        return run_busy((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
                        argc > 4 ? (unsigned)atoi(argv[4]) : 1);
    }
    if (argc < 3) {
        return 2;
    }
    if (strcmp(argv[1], "forks") == 0) {
        return grow_in_two((unsigned)atoi(argv[2]));
    }
    if (strcmp(argv[1], "steps") == 0) {
        setvbuf(stdin, line, _IOFBF, sizeof(line));
        setvbuf(stdout, out, _IOFBF, sizeof(out));
        for (unsigned i = 0; i < 10 && fgetc(stdin) != EOF; i++) {
            grow((unsigned)atoi(argv[2]) / 10);
            puts("done");
            fflush(stdout);
        }
    } else {
        grow((unsigned)atoi(argv[2]));
    }
    return 0;
}
