/*
 * Fuzz target: the memory of a CPython interpreter, as a hostile target could write it.
 *
 * The first byte chooses the version. The rest is memory that begins at BASE_VA, with the thread
 * state in front, and, for Python 3.13, with the offsets that it publishes at the same place.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/python/python_frames.h"
#include "util/utf8.h"

#define BASE_VA     UINT64_C(0x10000)
#define MEMORY_MAX  (1U << 16)
#define THREAD_ID   UINT64_C(0x1234)
#define CODE_TYPE   UINT64_C(0xc0de)
#define STRING_TYPE UINT64_C(0x57)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct image {
    struct hs_script_memory memory; /* first: look() gets its address */
    uint8_t *bytes;
    size_t count;
};

static const void *look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    const struct image *image = (const struct image *)memory;
    if (va < BASE_VA || va - BASE_VA > image->count || image->count - (va - BASE_VA) < bytes) {
        return NULL;
    }
    /* A copy of exactly these bytes: a read beyond them is found. */
    static uint8_t *copy;
    free(copy);
    copy = malloc(bytes);
    if (copy) {
        memcpy(copy, image->bytes + (va - BASE_VA), bytes);
    }
    return copy;
}

static void check_text(struct hs_script_text described, uint32_t room)
{
    const char *text = described.text;
    uint32_t bytes = described.bytes;
    if (bytes >= room || text[bytes] != '\0' || strlen(text) != bytes) {
        abort();
    }
    for (uint32_t off = 0; off < bytes;) {
        uint32_t character;
        size_t taken = hs_utf8_next(text + off, bytes - off, &character);
        if (taken == 1 && character == 0xfffd) {
            abort();
        }
        off += (uint32_t)taken;
    }
}

static void check_walk(struct hs_script_memory *memory, const struct hs_python_types *types,
                       const struct hs_python_walk *walk)
{
    static struct hs_python_description words;
    static struct hs_script_reads reads, others;
    const struct hs_python_roots roots = { types, &words };
    if (walk->count > HS_PYTHON_FRAMES_MAX || walk->cut_idx > walk->count ||
        walk->changed_count != walk->count) {
        abort();
    }
    memory->reads = &reads;
    memory->others = &others;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct hs_python_frame *frame = &walk->frames[i];
        const struct hs_script_place place = hs_python_place(frame);
        struct hs_script_frame described = { .line = 0 };
        if (frame->group >= walk->group_count || (i > 0 && frame->group < frame[-1].group)) {
            abort();
        }
        hs_script_reads_begin(&reads);
        hs_script_reads_begin(&others);
        if (frame->code_va != 0 && hs_python_describe(&roots, memory, &place, &described)) {
            if (described.function.text) {
                check_text(described.function, sizeof(words.function));
            }
            check_text(described.file, sizeof(words.file));
        }
    }
}

/* A second walk finds the same frames, and none that has changed. */
static void check_again(struct hs_script_memory *memory, const struct hs_python_types *types,
                        struct hs_python_walk *walk)
{
    uint32_t count = walk->count;
    if (hs_python_frames_walk(memory, types, BASE_VA, THREAD_ID, walk) != HS_PYTHON_FOUND ||
        walk->count != count || walk->changed_count != (walk->cut_idx ? count : 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MEMORY_MAX];
    static struct hs_python_walk walk;
    if (size == 0 || size - 1 > MEMORY_MAX) {
        return 0;
    }
    struct image image = { { .look = look }, bytes, size - 1 };
    struct hs_python_types types = { .code_type_va = CODE_TYPE, .unicode_type_va = STRING_TYPE };
    uint32_t minor = HS_PYTHON_MINOR_FIRST + data[0] % 6U;
    memcpy(bytes, data + 1, image.count);
    bool has_offsets = image.count >= HS_PYTHON_OFFSETS_BYTES;
    if (!hs_python_layout_make(minor, has_offsets ? bytes : NULL, &types.layout)) {
        return 0;
    }
    walk.count = 0;
    if (hs_python_frames_walk(&image.memory, &types, BASE_VA, THREAD_ID, &walk) ==
        HS_PYTHON_FOUND) {
        check_walk(&image.memory, &types, &walk);
        image.memory.reads = NULL;
        check_again(&image.memory, &types, &walk);
    }
    return 0;
}
