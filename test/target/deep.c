/*
 * Stacks that are hard to walk: very deep, with frames of any size, and left by longjmp.
 *
 *   deep [DEPTH]
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>

#include "truth.h"

SITE(site_deep, malloc(n))
SITE(site_alloca, malloc(n))
SITE(site_vla, malloc(n))
SITE(site_big_frame, malloc(n))
SITE(site_longjmp, malloc(n))
SITE(site_callback, malloc(n))

static NOINLINE void recurse(unsigned depth)
{
    if (depth == 0) {
        site_deep(32);
        return;
    }
    recurse(depth - 1);
    __asm__ volatile("");
}

static NOINLINE void with_alloca(unsigned depth, size_t bytes)
{
    volatile char *room = alloca(bytes);
    room[0] = 1;
    if (depth == 0) {
        site_alloca(33);
    } else {
        with_alloca(depth - 1, bytes * 2);
    }
    room[bytes - 1] = 2;
}

static NOINLINE void with_vla(unsigned depth)
{
    volatile char room[depth * 1000 + 1];
    room[depth] = 1;
    if (depth == 0) {
        site_vla(34);
    } else {
        with_vla(depth - 1);
    }
    room[0] = 2;
}

static NOINLINE void with_big_frame(unsigned depth)
{
    volatile char room[300000];
    room[0] = 1;
    if (depth == 0) {
        site_big_frame(35);
    } else {
        with_big_frame(depth - 1);
    }
    room[299999] = 2;
}

static jmp_buf back;

static NOINLINE void jump_out(unsigned depth)
{
    site_longjmp(36);
    if (depth == 0) {
        longjmp(back, 1);
    }
    jump_out(depth - 1);
    __asm__ volatile("");
}

static int compare(const void *a, const void *b)
{
    site_callback(4);
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    for (unsigned i = 0; i < 20; i++) {
        recurse(depth);
        recurse(i * 20);
        with_alloca(i / 2, 100);
        with_vla(i);
        with_big_frame(i);
        if (setjmp(back) == 0) {
            jump_out(i);
        }
        int numbers[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
        qsort(numbers, 8, sizeof(int), compare);
    }
    puts("done");
    return 0;
}
