/*
 * An image of an interpreter's memory, which a test builds, and what a reader reports of it, as
 * text: one line a frame, "FUNCTION FILE:LINE", and "--" after the last frame of a run loop.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "client/script/script_frames.h"

#define IMAGE_VA    UINT64_C(0x7000000000)
#define IMAGE_BYTES 16384U

struct script_image {
    struct hs_script_memory memory; /* first: look() gets its address */
    uint8_t bytes[IMAGE_BYTES];
    uint32_t used_bytes;
    char report[4096];
    hs_script_describe_fn *describe;
    const void *roots;
    uint32_t frame_limit; /* the sink has room for so many; 0: any number */
    uint32_t frame_count;
};

static inline const void *image_look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    const struct script_image *image = (const struct script_image *)memory;
    return va >= IMAGE_VA && bytes <= IMAGE_BYTES && va - IMAGE_VA <= IMAGE_BYTES - bytes
               ? image->bytes + (va - IMAGE_VA)
               : NULL;
}

static inline void image_init(struct script_image *image)
{
    memset(image, 0, sizeof(*image));
    image->memory.look = image_look;
}

/* Takes `bytes` bytes, which are 0. */
static inline uint64_t image_take(struct script_image *image, uint32_t bytes)
{
    uint64_t va = IMAGE_VA + image->used_bytes;
    image->used_bytes += (bytes + 15U) & ~15U;
    return va;
}

static inline void image_put(struct script_image *image, uint64_t va, uint64_t value,
                             uint32_t bytes)
{
    memcpy(image->bytes + (va - IMAGE_VA), &value, bytes);
}

static inline void image_word(struct script_image *image, uint64_t va, uint64_t value)
{
    image_put(image, va, value, 8);
}

static inline void image_text(struct script_image *image, uint64_t va, const char *text)
{
    memcpy(image->bytes + (va - IMAGE_VA), text, strlen(text));
}

/* Describes each place. */
static inline enum hs_script_added image_add(void *ctx, const struct hs_script_place *place)
{
    struct script_image *image = ctx;
    struct hs_script_frame frame = { .line = 0 };
    size_t used = strlen(image->report);
    if (image->frame_limit != 0 && image->frame_count == image->frame_limit) {
        return HS_SCRIPT_NO_ROOM;
    }
    if (!image->describe(image->roots, &image->memory, place, &frame)) {
        return HS_SCRIPT_WRONG;
    }
    if (!frame.function.text) {
        return HS_SCRIPT_SKIPPED;
    }
    image->frame_count++;
    snprintf(image->report + used, sizeof(image->report) - used, "%.*s %.*s:%u\n",
             (int)frame.function.bytes, frame.function.text, (int)frame.file.bytes,
             frame.file.text ? frame.file.text : "", frame.line);
    return HS_SCRIPT_ADDED;
}

static inline void image_end_entry(void *ctx, uint32_t frame_count)
{
    struct script_image *image = ctx;
    size_t used = strlen(image->report);
    snprintf(image->report + used, sizeof(image->report) - used, "-- %u\n", frame_count);
}

static inline struct hs_script_sink image_sink(struct script_image *image,
                                               hs_script_describe_fn *describe, const void *roots)
{
    image->describe = describe;
    image->roots = roots;
    image->report[0] = '\0';
    image->frame_count = 0;
    return (struct hs_script_sink){ .add = image_add, .end_entry = image_end_entry, .ctx = image };
}
