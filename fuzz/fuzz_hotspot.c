/*
 * Fuzz target: the memory of a JVM (test/unit/hotspot_image.h), in which bytes are changed. Each
 * three bytes of the input are an offset in the image and what stands there: so most of what is
 * read leads to something.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../test/unit/hotspot_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hotspot_image image;
static const struct hs_hotspot_memory memory = { .read = image_read, .ctx = &image };

static void look_at_method(const struct hs_hotspot_layout *layout, uint64_t method_va)
{
    struct hs_java_method method;
    char text[64];
    if (!hs_java_method_read(layout, &memory, method_va, &method)) {
        return;
    }
    if (hs_java_method_function(layout, &memory, &method, text, sizeof(text)) >= sizeof(text) ||
        hs_java_method_source(layout, &memory, &method, text, sizeof(text)) >= sizeof(text)) {
        abort();
    }
    hs_java_method_hash(layout, &memory, &method);
    for (uint32_t bci = 0; bci < 64; bci += 9) {
        hs_java_method_line(layout, &memory, &method, bci);
    }
}

static void look_at_code(const struct hs_hotspot_layout *layout, const struct hs_code_heaps *heaps,
                         uint64_t pc)
{
    struct hs_code_blob blob;
    struct hs_debug_scopes scopes;
    uint64_t method_va;
    int32_t bci;
    uint32_t count = 0;
    if (!hs_code_blob_find(layout, &memory, heaps, pc, &blob)) {
        return;
    }
    if (pc < blob.code_va || pc >= blob.end_va || blob.code_va < blob.start_va) {
        abort();
    }
    if (hs_debug_scopes_begin(layout, &memory, &blob, pc, &scopes)) {
        while (hs_debug_scopes_next(&scopes, &method_va, &bci)) {
            look_at_method(layout, method_va);
            count++;
        }
        if (count == 0 || method_va != blob.method_va) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_hotspot_layout layout;
    struct hs_code_heaps heaps;
    image_make(&image, size % 2 ? 17 : 21, NULL);
    for (size_t i = 0; i + 3 <= size; i += 3) {
        image.bytes[(data[i] | (size_t)data[i + 1] << 8) % IMAGE_BYTES] = data[i + 2];
    }
    if (hs_hotspot_layout_read(&memory, image_symbol, &image, &layout) != HS_JAVA_READ ||
        !hs_code_heaps_read(&layout, &memory, &heaps)) {
        return 0;
    }
    for (uint64_t off = 0; off < 640; off += 8) {
        look_at_code(&layout, &heaps, image.low_va + off);
    }
    look_at_method(&layout, image.method_va[0]);
    look_at_method(&layout, image.method_va[1]);
    return 0;
}
