/*
 * Sites with mixed sizes, where few samples say little about the number of objects. The stated
 * margins must hold all the same. Every third block is freed again.
 *
 *     mixtures
 *
 *     few_large     20 x 3000 bytes among 2000 x 1
 *     log_uniform   150 sizes, evenly distributed on a logarithmic scale from 16 to 4000
 *     pareto        3000 sizes from 1 to 4000: twice the size is half as frequent
 *     unseen        100 x 20 bytes: mostly without a sample
 *     exact         10 x 10000 bytes, which are all recorded, among 60 x 30
 *     doubling      a buffer that grows from 16 bytes to 1 MiB
 *     one           a single block of 1500 bytes
 */
#include <math.h>

#include "truth.h"

SITE(site_few_large, malloc(n))
SITE(site_log_uniform, malloc(n))
SITE(site_pareto, malloc(n))
SITE(site_unseen, malloc(n))
SITE(site_exact, malloc(n))
SITE(site_doubling, malloc(n))
SITE(site_one, malloc(n))

static size_t few_large(unsigned i)
{
    return i % 101 == 0 ? 3000 : 1;
}

static size_t log_uniform(unsigned i)
{
    return (size_t)(16 * pow(250, (i + 0.5) / 150));
}

static size_t pareto(unsigned i)
{
    return (size_t)(1 / (1 - (i + 0.5) / 3000 * (1 - 1.0 / 4000)));
}

static size_t unseen(unsigned i)
{
    (void)i;
    return 20;
}

static size_t exact(unsigned i)
{
    return i % 7 == 0 ? 10000 : 30;
}

static size_t doubling(unsigned i)
{
    return (size_t)16 << i;
}

static size_t one(unsigned i)
{
    (void)i;
    return 1500;
}

#define RUN(name, count, is_buffer)                                                                \
    do {                                                                                           \
        for (unsigned i = 0; i < (count); i++) {                                                   \
            size_t n = name(i);                                                                    \
            void *p = site_##name(n);                                                              \
            if ((is_buffer) ? i + 1 < (count) : i % 3 == 2) {                                      \
                SITE_FREE(site_##name, p, n);                                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

int main(void)
{
    RUN(few_large, 2020, 0);
    RUN(log_uniform, 150, 0);
    RUN(pareto, 3000, 0);
    RUN(unseen, 100, 0);
    RUN(exact, 70, 0);
    RUN(doubling, 17, 1);
    RUN(one, 1, 0);
    return 0;
}
