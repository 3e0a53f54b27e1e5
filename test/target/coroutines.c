/*
 * Coroutines that come and go, on small stacks of their own between guard pages.
 *
 *     coroutines [early]     early: the very first allocation is made on such a stack
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <ucontext.h>

#include "truth.h"

#define STACK 16384
#define PAGE  4096
#define ALIVE 8

SITE(site_coroutine, malloc(n))
SITE(site_coroutine_freed, malloc(n))
SITE(site_scheduler, malloc(n))
SITE(site_top, malloc(n))

struct coroutine {
    ucontext_t context;
    char *stack;
    unsigned round;
};

static __thread struct coroutine all[ALIVE];
static __thread ucontext_t scheduler;
static __thread unsigned current;

/* Uses the stack up to its edge: the next word above its top is not readable. */
static NOINLINE void body(unsigned depth)
{
    if (depth > 0) {
        body(depth - 1);
        __asm__ volatile("");
        return;
    }
    site_coroutine(40);
    void *p = site_coroutine_freed(72);
    struct coroutine *self = &all[current];
    swapcontext(&self->context, &scheduler);
    SITE_FREE(site_coroutine_freed, p, 72);
    site_coroutine(24);
}

static void entry(void)
{
    site_top(32);
    body(current);
    swapcontext(&all[current].context, &scheduler);
}

static void make(unsigned i)
{
    struct coroutine *c = &all[i];
    char *map = mmap(NULL, STACK + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    c->stack = map + PAGE;
    mprotect(c->stack, STACK, PROT_READ | PROT_WRITE);
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = c->stack;
    c->context.uc_stack.ss_size = STACK;
    c->context.uc_link = NULL;
    makecontext(&c->context, entry, 0);
}

static void *run(void *arg)
{
    unsigned rounds = *(unsigned *)arg;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < ALIVE; i++) {
            make(i);
        }
        for (unsigned step = 0; step < 2; step++) {
            for (current = 0; current < ALIVE; current++) {
                swapcontext(&scheduler, &all[current].context);
            }
            if (round > 0) {
                site_scheduler(8 + round % 100);
            }
        }
        for (unsigned i = 0; i < ALIVE; i++) {
            munmap(all[i].stack - PAGE, STACK + 2 * PAGE);
        }
    }
    return NULL;
}

int main(void)
{
    unsigned rounds = 500;
    pthread_t threads[2];
    run(&rounds);
    for (unsigned i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, run, &rounds);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    puts("done");
    return 0;
}
