/*
 * The truth: what a test program knows about its own heap, stored where a test can compare it with
 * a profiler's figures.
 *
 * A program allocates at sites: functions that are never inlined, whose names begin with "site_",
 * and which note each block under their own names. The figures are in a file that is mapped shared
 * ($TRUTH_FILE), so that they survive however the program ends, even by SIGKILL. Writing them
 * neither allocates nor calls a function that a profiler watches.
 *
 * A block is noted after its allocation returned, and subtracted before its free is called. At any
 * instant the truth therefore differs from the heap by at most one operation per thread.
 *
 * Without $TRUTH_FILE the figures are not stored, and the program does the same otherwise.
 *
 * Threads   any; also in signal handlers. A process made by truth_fork() counts for itself, in a
 *           file of its own ($TRUTH_FILE.PID), beginning with what it inherited. A process made in
 *           another way calls truth_detach() and no longer counts.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRUTH_MAGIC 0x3130687475727473 /* "strutH01": read by test/e2e/truth.py */
#define TRUTH_SITES 1023

struct truth_site {
    char name[64];
    int64_t live_bytes;
    int64_t live_count;
    int64_t alloc_bytes;
    int64_t alloc_count;
};

struct truth_file {
    uint64_t magic;
    uint64_t site_count;
    char reserved[80];
    struct truth_site sites[TRUTH_SITES];
};

static struct truth_file *truth_file;
static struct truth_site truth_nowhere;

__attribute__((constructor(101), unused)) static void truth_attach(void)
{
    const char *path = getenv("TRUTH_FILE");
    int fd = path && !truth_file ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *map =
            mmap(NULL, sizeof(struct truth_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            truth_file = (struct truth_file *)map;
            truth_file->magic = TRUTH_MAGIC;
        }
        close(fd);
    }
}

/* For a forked child: its further allocations are not part of the parent's truth. */
__attribute__((unused)) static void truth_detach(void)
{
    if (truth_file) {
        mmap(truth_file, sizeof(struct truth_file), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
}

/*
 * fork() after which both processes keep their truth. Operations of other threads during the fork
 * may or may not be in the child's.
 */
__attribute__((unused)) static pid_t truth_fork(void)
{
    static struct truth_file before;
    if (!truth_file) {
        return fork();
    }
    memcpy(&before, truth_file, sizeof(before));
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", getenv("TRUTH_FILE"), (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(before)) != 0 ||
        mmap(truth_file, sizeof(before), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
            truth_file) {
        abort();
    }
    close(fd);
    memcpy(truth_file, &before, sizeof(before));
    for (unsigned i = 0; i < TRUTH_SITES; i++) {
        truth_file->sites[i].alloc_bytes = truth_file->sites[i].live_bytes;
        truth_file->sites[i].alloc_count = truth_file->sites[i].live_count;
    }
    return 0;
}

/*
 * The entry of a site's figures. Threads that come first at the same time may make several entries;
 * readers add them up.
 */
__attribute__((unused)) static struct truth_site *truth_site(struct truth_site **slot,
                                                             const char *name)
{
    struct truth_site *site = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (site) {
        return site;
    }
    truth_attach();
    site = &truth_nowhere;
    if (truth_file) {
        uint64_t count = __atomic_load_n(&truth_file->site_count, __ATOMIC_ACQUIRE);
        uint64_t idx = 0;
        while (idx < count && strcmp(truth_file->sites[idx].name, name) != 0) {
            idx++;
        }
        if (idx == count) {
            idx = __atomic_fetch_add(&truth_file->site_count, 1, __ATOMIC_ACQ_REL);
        }
        if (idx >= TRUTH_SITES) {
            abort();
        }
        site = &truth_file->sites[idx];
        strncpy(site->name, name, sizeof(site->name) - 1);
    }
    __atomic_store_n(slot, site, __ATOMIC_RELAXED);
    return site;
}

enum truth_event { TRUTH_GOT, TRUTH_LOST, TRUTH_ADOPTED };

static inline void truth_note(struct truth_site *site, enum truth_event event, size_t bytes)
{
    int64_t sign = event == TRUTH_LOST ? -1 : 1;
    __atomic_fetch_add(&site->live_bytes, sign * (int64_t)bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site->live_count, sign, __ATOMIC_RELAXED);
    if (event == TRUTH_GOT) {
        __atomic_fetch_add(&site->alloc_bytes, (int64_t)bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add(&site->alloc_count, 1, __ATOMIC_RELAXED);
    }
}

#ifdef __cplusplus
#define TRUTH_C extern "C"
#else
#define TRUTH_C
#endif
#define NOINLINE __attribute__((noinline))

/*
 * SITE(site_x, malloc(n)) makes void *site_x(size_t n), which allocates with that expression and
 * notes n bytes. SITE_LOST(site_x, n) subtracts such a block before it is freed. A site of another
 * form is declared by SITE_OF(site_x) and a noinline function that calls SITE_GOT. A block that one
 * site allocated and another will reallocate is SITE_LOST at the first and SITE_ADOPTED at the
 * second.
 */
#define SITE_OF(site)                                                                              \
    __attribute__((unused)) static struct truth_site *site##_slot;                                 \
    __attribute__((unused)) static inline void site##_note(enum truth_event event, size_t bytes)   \
    {                                                                                              \
        truth_note(truth_site(&site##_slot, #site), event, bytes);                                 \
    }
#define SITE_NOTE(site, event, n) site##_note(event, n)
#define SITE_GOT(site, n)         SITE_NOTE(site, TRUTH_GOT, n)
#define SITE_LOST(site, n)        SITE_NOTE(site, TRUTH_LOST, n)
#define SITE_ADOPTED(site, n)     SITE_NOTE(site, TRUTH_ADOPTED, n)

#define SITE(site, expression)                                                                     \
    SITE_OF(site)                                                                                  \
    TRUTH_C NOINLINE void *site(size_t n);                                                         \
    TRUTH_C NOINLINE void *site(size_t n)                                                          \
    {                                                                                              \
        void *volatile block = (expression);                                                       \
        if (block) {                                                                               \
            SITE_GOT(site, n);                                                                     \
        }                                                                                          \
        return block;                                                                              \
    }
#define SITE_FREE(site, p, n)                                                                      \
    do {                                                                                           \
        SITE_LOST(site, n);                                                                        \
        free(p);                                                                                   \
    } while (0)
