/*
 * A module of iconv that converts nothing and keeps memory: see converts.c. Its three functions are
 * those that libc looks up in a module.
 */
#include <gconv.h>
#include <stdlib.h>

int gconv(struct __gconv_step *step);
int gconv_init(struct __gconv_step *step);
void gconv_end(struct __gconv_step *step);

void *volatile greedy_kept;

int gconv(struct __gconv_step *step)
{
    (void)step;
    greedy_kept = malloc(5000);
    return __GCONV_ILLEGAL_INPUT;
}

int gconv_init(struct __gconv_step *step)
{
    step->__min_needed_from = step->__max_needed_from = 1;
    step->__min_needed_to = step->__max_needed_to = 4;
    step->__stateful = 0;
    return __GCONV_OK;
}

void gconv_end(struct __gconv_step *step)
{
    (void)step;
}
