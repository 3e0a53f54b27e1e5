/*
 * Measures how long a cut stays open: a snapshot of a million live blocks on 4,000 stacks, of which
 * a quarter are sampled and all belong to the peak too.
 *
 *     ninja bench/bench_capture && bench/bench_capture [BLOCKS]
 *
 * Prints the minimum and the median of 40 snapshots in CPU time of the reader. On a shared machine,
 * wall time would mostly measure other programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/region/capture.h"
#include "region_writer.h"
#include "rt/bits.h"

#define ROUNDS 40
#define STACKS 4000

static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    uint32_t blocks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    struct region_writer w;
    struct player p;
    struct hs_region region;
    double ms[ROUNDS];
    region_writer_init(&w, &(struct region_plan){ blocks, 4096 });
    uint32_t first = region_writer_stacks(&w, STACKS);
    player_init(&p, &w, 1, 0, blocks);
    w.header->sections[HS_SECTION_RECORDS].count = blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        uint64_t r = hs_mix64(i);
        player_birth(&p, first + (uint32_t)(r % STACKS), 16 + (r >> 40) % 4000, (r & 3) == 0);
    }
    region_writer_peak(&w, 1);
    if (hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL) != 0) {
        return 1;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct hs_snapshot *snap;
        double begin = now_ms();
        if (hs_capture(&region, false, 1, &snap) != 0) {
            return 1;
        }
        ms[i] = now_ms() - begin;
        hs_snapshot_free(snap);
    }
    qsort(ms, ROUNDS, sizeof(ms[0]), compare);
    printf("%u blocks: %.1f ms at least, %.1f ms in the middle\n", blocks, ms[0], ms[ROUNDS / 2]);
    return 0;
}
