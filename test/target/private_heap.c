/*
 * A program with an allocator besides the C library's, under other names: je_malloc, or with
 * -DPREFIX=... another prefix. With -DSECOND there is mi_malloc as well. It takes commands in the
 * same way as resident.c.
 *
 *   before    blocks from before the attach, of both allocators
 *   work      uses both allocators in all ways; frees, resizes and grows in place blocks from
 *             before
 *   busy      four threads that are always inside the allocator, until the end
 *   fork      a child that works; the parent waits for it, and the child then waits for the
 *             parent's end
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "truth.h"

#ifndef PREFIX
#define PREFIX je_
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define P(name)     JOIN(PREFIX, name)

void *P(malloc)(size_t);
void *P(calloc)(size_t, size_t);
void *P(realloc)(void *, size_t);
void P(free)(void *);
int P(posix_memalign)(void **, size_t, size_t);
void *P(aligned_alloc)(size_t, size_t);
#ifdef HAS_MALLOCX
void *P(mallocx)(size_t, int);
void *P(rallocx)(void *, size_t, int);
size_t P(xallocx)(void *, size_t, size_t, int);
void P(dallocx)(void *, int);
void P(sdallocx)(void *, size_t, int);
#endif

#ifdef SECOND
void *mi_malloc(size_t);
void mi_free(void *);
SITE(site_second, mi_malloc(n))
SITE(site_second_freed, mi_malloc(n))
#endif

#define BEFORE 999

static NOINLINE void *aligned(size_t n)
{
    void *p = NULL;
    return P(posix_memalign)(&p, 128, n) == 0 ? p : NULL;
}

SITE(site_before, P(malloc)(n))
SITE(site_before_libc, malloc(n))
SITE(site_libc, malloc(n))
SITE(site_malloc, P(malloc)(n))
SITE(site_calloc, P(calloc)(3, n / 3))
SITE(site_aligned, P(aligned_alloc)(64, n))
SITE(site_posix, aligned(n))
SITE(site_freed, P(malloc)(n))
SITE(site_huge, P(malloc)(n))
SITE_OF(site_moved)

static void *before[BEFORE], *before_libc[BEFORE];

static NOINLINE void *site_moved(void *old, size_t n)
{
    void *volatile block = P(realloc)(old, n);
    SITE_GOT(site_moved, n);
    return block;
}

#ifdef HAS_MALLOCX
SITE(site_mallocx, P(mallocx)(n, 0))
SITE(site_mallocx_aligned, P(mallocx)(n, 9)) /* 512 bytes */
SITE(site_sized, P(mallocx)(n, 0))
SITE(site_grown, P(mallocx)(n, 0))
SITE_OF(site_xallocx)
SITE_OF(site_rallocx)

static NOINLINE void *site_rallocx(void *old, size_t n)
{
    void *volatile block = P(rallocx)(old, n, 0);
    SITE_GOT(site_rallocx, n);
    return block;
}

/* True: the block now has this many bytes. */
static NOINLINE int site_xallocx(void *block, size_t n)
{
    volatile size_t now = P(xallocx)(block, n, 0, 0);
    if (now >= n) {
        SITE_GOT(site_xallocx, n);
    }
    return now >= n;
}

static void work_by_flags(void)
{
    for (size_t i = 1; i <= 300; i++) {
        site_mallocx(i);
        site_mallocx_aligned(i * 2);
        void *p = site_sized(i * 5);
        SITE_LOST(site_sized, i * 5);
        if (i % 2) {
            P(sdallocx)(p, i * 5, 0);
        } else {
            P(dallocx)(p, 0);
        }
        p = site_sized(i * 7);
        SITE_LOST(site_sized, i * 7);
        p = site_rallocx(p, i * 9);
        if (i % 3 == 0) {
            SITE_LOST(site_rallocx, i * 9);
            P(sdallocx)(p, i * 9, 0);
        }
        /* It can grow within its size class, but not by 100000 bytes; then it stays unchanged. */
        p = site_grown(i * 16 + 1);
        if (site_xallocx(p, i * 16 + 2)) {
            SITE_LOST(site_grown, i * 16 + 1);
        }
        if (site_xallocx(p, i * 16 + 100000)) {
            abort();
        }
    }
}
#else
static void work_by_flags(void)
{
}
#endif

static void prepare(void)
{
    for (size_t i = 0; i < BEFORE; i++) {
        before[i] = site_before(64 + i);
        before_libc[i] = site_before_libc(64 + i);
    }
}

static void work_on_old(size_t i)
{
    if (i % 3 == 0) {
        SITE_LOST(site_before, 64 + i);
        P(free)(before[i]);
        SITE_LOST(site_before_libc, 64 + i);
        free(before_libc[i]);
    } else if (i % 3 == 1) {
        SITE_LOST(site_before, 64 + i);
        site_moved(before[i], 5000 + i);
#ifdef HAS_MALLOCX
    } else if (site_xallocx(before[i], 64 + i)) {
        SITE_LOST(site_before, 64 + i);
#endif
    }
    before[i] = NULL;
}

static void work(void)
{
    for (size_t i = 1; i <= 500; i++) {
#ifdef SECOND
        site_second(i * 11);
        void *second = site_second_freed(i * 13);
        SITE_LOST(site_second_freed, i * 13);
        mi_free(second);
#endif
        site_malloc(i);
        site_libc(i * 2);
        site_calloc(i * 3);
        site_aligned(64 * (i % 7 + 1));
        site_posix(i);
        void *p = site_freed(i * 2);
        SITE_LOST(site_freed, i * 2);
        if (i % 2) {
            P(free)(p);
        } else {
            p = site_moved(p, i * 4);
            SITE_LOST(site_moved, i * 4);
            P(free)(p);
        }
    }
    void *huge = site_huge(10 << 20);
    SITE_LOST(site_huge, 10 << 20);
    /* A failure leaves everything unchanged. */
    if (P(malloc)(SIZE_MAX / 2) || P(realloc)(huge, SIZE_MAX / 2) || P(calloc)(SIZE_MAX / 2, 3)) {
        abort();
    }
    SITE_ADOPTED(site_huge, 10 << 20);
    work_by_flags();
    for (size_t i = 0; i < BEFORE; i++) {
        if (before[i]) {
            work_on_old(i);
        }
    }
}

static void *be_busy(void *arg)
{
    void *kept[32] = { NULL };
    for (unsigned n = 1;; n = n * 1103515245 + 12345) {
        unsigned i = n >> 16 & 31;
        if (n >> 22 & 1) {
            kept[i] = P(realloc)(kept[i], (n >> 8 & 2047) + 1);
        } else {
            P(free)(kept[i]);
            kept[i] = P(calloc)(1, n >> 8 & 2047);
        }
    }
    return arg;
}

static void start_busy(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, be_busy, NULL);
    }
}

static void start_child(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) {
        abort();
    }
    if (truth_fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        if (write(ends[1], &byte, 1) == 1) {
            sleep(1000);
        }
        _exit(0);
    }
    if (read(ends[0], &byte, 1) != 1) {
        abort();
    }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "before") == 0) {
            prepare();
        } else if (strcmp(line, "work") == 0) {
            work();
        } else if (strcmp(line, "busy") == 0) {
            start_busy();
        } else if (strcmp(line, "fork") == 0) {
            start_child();
        }
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
