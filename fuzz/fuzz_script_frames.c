/*
 * Frames of Perl, PHP and Ruby in the memory of a hostile interpreter: the readers must stay within
 * it, come to an end, and report only texts that can be read.
 *
 * Input: the language (1 byte), two places where the reader begins (2 bytes each); what follows
 * lies at a fixed address, as an image of the unit tests does (test/unit/script_image.h).
 */
#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "client/script/perl_frames.h"
#include "client/script/php_frames.h"
#include "client/script/ruby_frames.h"

#define IMAGE_VA   UINT64_C(0x7000000000)
#define HEAD_BYTES 5U

struct image {
    struct hs_script_memory memory; /* first: look() gets its address */
    const uint8_t *data;
    size_t bytes;
    uint32_t frame_count, entry_end;
    hs_script_describe_fn *describe;
    const void *roots;
    uint32_t sum;
};

static const void *look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    const struct image *image = (const struct image *)memory;
    return va >= IMAGE_VA && bytes <= image->bytes && va - IMAGE_VA <= image->bytes - bytes
               ? image->data + (va - IMAGE_VA)
               : NULL;
}

static void read_text(struct image *image, struct hs_script_text text, uint32_t limit_bytes)
{
    check(text.bytes <= limit_bytes && (text.text || text.bytes == 0));
    for (uint32_t i = 0; i < text.bytes; i++) {
        image->sum += (uint8_t)text.text[i];
    }
}

/* What is listed is what the image has there. */
static void check_reads(const struct hs_script_reads *reads, const struct image *image)
{
    check(reads->count <= HS_SCRIPT_READS_MAX);
    for (uint32_t i = 0; i < reads->count; i++) {
        const struct hs_script_read *read = &reads->list[i];
        uint64_t word;
        check(read->va % 8 == 0 && read->va >= IMAGE_VA && read->mask != 0 &&
              read->va - IMAGE_VA + 8 <= image->bytes);
        memcpy(&word, image->data + (read->va - IMAGE_VA), sizeof(word));
        check(word == read->value);
    }
}

static enum hs_script_added add(void *ctx, const struct hs_script_place *place)
{
    static struct hs_script_reads reads, others;
    struct image *image = ctx;
    struct hs_script_frame frame = { .line = 0 };
    if (image->frame_count == HS_SCRIPT_FRAMES_MAX) {
        return HS_SCRIPT_NO_ROOM;
    }
    struct image described = *image;
    described.memory.reads = &reads;
    described.memory.others = &others;
    hs_script_reads_begin(&reads);
    hs_script_reads_begin(&others);
    bool is_known = image->describe(image->roots, &described.memory, place, &frame);
    check_reads(&reads, image);
    check_reads(&others, image);
    if (!is_known || !frame.function.text) {
        return is_known ? HS_SCRIPT_SKIPPED : HS_SCRIPT_WRONG;
    }
    image->frame_count++;
    read_text(image, frame.function, HS_SCRIPT_NAME_BYTES - 1);
    read_text(image, frame.file, 4095);
    return HS_SCRIPT_ADDED;
}

static void end_entry(void *ctx, uint32_t frame_count)
{
    struct image *image = ctx;
    check(frame_count <= image->frame_count && frame_count >= image->entry_end);
    image->entry_end = frame_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < HEAD_BYTES) {
        return 0;
    }
    uint64_t first_va = IMAGE_VA + data[1] + 256U * data[2];
    uint64_t second_va = IMAGE_VA + data[3] + 256U * data[4];
    struct image image = { .memory = { .look = look },
                           .data = data + HEAD_BYTES,
                           .bytes = bytes - HEAD_BYTES };
    const struct hs_script_sink sink = { .add = add, .end_entry = end_entry, .ctx = &image };
    const struct hs_perl perl = { .nextstate_va = 0x1111, .dbstate_va = 0x2222, .null_va = 3 };
    const struct hs_php php = { .globals_va = first_va, .registry_va = second_va };
    struct hs_ruby ruby = { .symbols_va = second_va };
    switch (data[0] % 4) {
    case 0:
        image.describe = hs_perl_describe;
        image.roots = &perl;
        hs_perl_read(first_va, &image.memory, &sink);
        break;
    case 1:
        image.describe = hs_php_describe;
        hs_php_read(&php, &image.memory, &sink);
        break;
    case 2:
        image.describe = hs_ruby_describe;
        image.roots = &ruby;
        hs_ruby_read(&ruby, first_va, &image.memory, &sink);
        break;
    default:
        ruby.symbols_va = hs_ruby_find_symbols(first_va, &image.memory);
    }
    return 0;
}
