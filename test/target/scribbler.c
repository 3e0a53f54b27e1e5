/*
 * Overwrites parts of its own region while the collector reads it, from several threads at once.
 *
 *     scribbler SECONDS PART...
 *
 * A part is "control", "header", "counts" (the sections' lengths in the header), or a section by
 * its number in enum hs_section_id. The program writes single words: random ones, small ones, all
 * bits set, one bit changed, or a word copied from elsewhere. It first allocates a little on a few
 * hundred stacks. After that it calls nothing that the client intercepts, so only the collector has
 * to cope.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fmt/region_layout.h"

#define PARTS_MAX 32

struct part {
    volatile uint64_t *words;
    uint64_t count;
};

static uint8_t *mapped[2]; /* control page and header */
static uint8_t *sections[HS_SECTION_N];
static struct part parts[PARTS_MAX];
static unsigned part_count;
static volatile bool is_begun, is_over;

static void *keep[4000];

__attribute__((noinline)) void *allocate(unsigned path, unsigned depth);
__attribute__((noinline)) void *allocate(unsigned path, unsigned depth)
{
    void *volatile block;
    if (depth == 0) {
        block = malloc(16 + path % 900);
    } else if (path & 1) {
        block = allocate(path >> 1, depth - 1);
    } else {
        block = allocate(path >> 1, depth - 1);
    }
    return block;
}

/*
 * Returns where an offset of the file is mapped. This need not be the start of a line of
 * /proc/self/maps: the kernel may place consecutive parts of the file side by side, and then they
 * are one line.
 */
static uint8_t *place_of(uint64_t file_off)
{
    char line[512];
    unsigned long lo, hi, off;
    uint8_t *place = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps)) {
        if (strstr(line, "memfd:heapscope") &&
            sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 && off <= file_off &&
            file_off - off < hi - lo) {
            place = (uint8_t *)lo + (file_off - off);
        }
    }
    fclose(maps);
    return place;
}

/* If a section is mapped several times, any of the mappings will do. */
static void find_region(void)
{
    mapped[0] = place_of(0);
    mapped[1] = place_of(HS_REGION_HEADER_OFF);
    struct hs_region_header_v2 *header = (void *)mapped[1];
    if (!header) {
        _exit(3);
    }
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        sections[i] = place_of(hs_region_section(header, i)->file_off);
    }
}

static void add_part(void *from, uint64_t bytes)
{
    if (!from || part_count == PARTS_MAX) {
        _exit(3);
    }
    parts[part_count++] = (struct part){ from, bytes / 8 };
}

static void add_named(const char *name)
{
    struct hs_region_header_v2 *header = (void *)mapped[1];
    if (strcmp(name, "control") == 0) {
        add_part(mapped[0], sizeof(struct hs_region_control_v1));
    } else if (strcmp(name, "header") == 0) {
        add_part(header, sizeof(*header));
    } else if (strcmp(name, "counts") == 0) {
        for (unsigned i = 0; i < HS_SECTION_N; i++) {
            add_part(&hs_region_section(header, i)->count, 8);
        }
    } else {
        unsigned id = (unsigned)atoi(name);
        const struct hs_section_v1 *section = hs_region_section(header, id);
        uint64_t bytes = section->count * section->elem_bytes;
        add_part(sections[id], bytes < 65536 ? bytes + 8 : 65536);
    }
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    return x ^ x >> 27;
}

static void *scribble(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg << 32;
    while (!is_begun) { /* starting a thread allocates memory */
        sched_yield();
    }
    while (!is_over) {
        uint64_t random = mix(++state);
        struct part *part = &parts[random % part_count];
        volatile uint64_t *word = &part->words[(random >> 8) % part->count];
        uint64_t values[] = { mix(random),
                              mix(random) % 1000,
                              UINT64_MAX,
                              *word ^ UINT64_C(1) << (random >> 58),
                              part->words[mix(random) % part->count],
                              *word - 1 };
        *word = values[(random >> 40) % 6];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    struct timespec left = { 0 };
    double seconds = argc > 2 ? atof(argv[1]) : 0;
    for (unsigned i = 0; i < 4000; i++) {
        keep[i] = allocate(i, 9);
    }
    find_region();
    for (int i = 2; i < argc; i++) {
        add_named(argv[i]);
    }
    for (uintptr_t i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, scribble, (void *)(i + 1)) != 0) {
            _exit(4);
        }
    }
    is_begun = true;
    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    nanosleep(&left, NULL);
    _exit(part_count > 0 ? 5 : 2);
}
