/*
 * Fuzz target: JavaScript functions in the memory of a hostile target: v8/js_function.h.
 *
 * Input: the memory, at IMAGE_VA. Its first words are the context and the function of a frame, and
 * a string. The layout is that of V8 11.3, or of V8 13.6 if bit 2 of the first word is set.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "v8/js_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IMAGE_VA UINT64_C(0x100000)
/* No function needs more reads. */
#define READS_MAX 100000U

struct image {
    const uint8_t *data;
    size_t size;
    uint64_t read_count;
};

static bool read_image(void *ctx, uint64_t va, void *ret_bytes, size_t byte_count)
{
    struct image *image = ctx;
    image->read_count++;
    if (va < IMAGE_VA || byte_count > image->size || va - IMAGE_VA > image->size - byte_count) {
        return false;
    }
    memcpy(ret_bytes, image->data + (va - IMAGE_VA), byte_count);
    return true;
}

static const struct hs_v8_layout layout = {
    .value = {
        [HS_V8_FRAME_CONTEXT] = -8, [HS_V8_FRAME_FUNCTION] = -16, [HS_V8_OBJECT_TAG] = 1,
        [HS_V8_OBJECT_TAG_MASK] = 3, [HS_V8_SMI_SHIFT] = 1, [HS_V8_SMI_SHIFT_MORE] = 31,
        [HS_V8_TAGGED_BYTES] = 8, [HS_V8_TYPE_CONTEXT_FIRST] = 205,
        [HS_V8_TYPE_CONTEXT_LAST] = 214, [HS_V8_TYPE_FUNCTION] = 2066, [HS_V8_TYPE_SHARED] = 262,
        [HS_V8_TYPE_SCOPE] = 261, [HS_V8_TYPE_SCRIPT] = 167, [HS_V8_TYPE_FIXED_ARRAY] = 175,
        [HS_V8_TYPE_STRING_END] = 128, [HS_V8_STRING_KIND_MASK] = 7,
        [HS_V8_STRING_WIDTH_MASK] = 8, [HS_V8_STRING_ONE_BYTE] = 8, [HS_V8_STRING_SEQ] = 0,
        [HS_V8_STRING_CONS] = 1, [HS_V8_STRING_EXTERNAL] = 2, [HS_V8_STRING_SLICED] = 3,
        [HS_V8_STRING_THIN] = 5, [HS_V8_OBJECT_MAP] = 0, [HS_V8_MAP_TYPE] = 12,
        [HS_V8_FUNCTION_SHARED] = 24, [HS_V8_SHARED_NAME] = 16, [HS_V8_SHARED_SCRIPT] = 32,
        [HS_V8_SHARED_FLAGS] = 48, [HS_V8_SCRIPT_NAME] = 16, [HS_V8_SCRIPT_SOURCE] = 8,
        [HS_V8_SCRIPT_LINE_ENDS] = 56, [HS_V8_SCRIPT_EVAL_FROM] = 72, [HS_V8_STRING_LENGTH] = 12,
        [HS_V8_ONE_BYTE_CHARS] = 16, [HS_V8_TWO_BYTE_CHARS] = 16, [HS_V8_CONS_FIRST] = 16,
        [HS_V8_CONS_SECOND] = 24, [HS_V8_SLICED_PARENT] = 16, [HS_V8_SLICED_OFFSET] = 24,
        [HS_V8_THIN_ACTUAL] = 16, [HS_V8_EXTERNAL_RESOURCE] = 16, [HS_V8_ARRAY_LENGTH] = 8,
        [HS_V8_ARRAY_DATA] = 16, [HS_V8_SCOPE_LOCAL_COUNT] = 2, [HS_V8_SCOPE_FIRST_VARS] = 3,
    },
};

/* The bit that chooses the newer layout. It is not set in an address. */
#define IS_V8_13 UINT64_C(4)

static struct hs_v8_layout layout_of(bool is_v8_13)
{
    struct hs_v8_layout chosen = layout;
    if (is_v8_13) {
        chosen.value[HS_V8_FUNCTION_SHARED] = 32;
        chosen.value[HS_V8_SHARED_NAME] = 24;
        chosen.value[HS_V8_SHARED_SCRIPT] = 40;
        chosen.value[HS_V8_SHARED_FLAGS] = 56;
        chosen.value[HS_V8_SCOPE_FIRST_VARS] = 5;
    }
    return chosen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hs_js_name name;
    struct image image = { data, size, 0 };
    struct hs_js_identity identity;
    uint64_t words[3] = { 0 };
    char text[HS_JS_NAME_BYTES];
    struct hs_v8_text to = { .text = text, .max_bytes = sizeof(text) };
    memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
    const struct hs_v8_layout chosen = layout_of((words[0] & IS_V8_13) != 0);
    const struct hs_v8 v8 = { &chosen, { read_image, &image } };
    words[0] &= ~IS_V8_13;
    hs_js_is_context(&v8, words[0]);
    if (hs_js_function_identify(&v8, words[1], &identity) &&
        hs_js_function_read(&v8, words[1], &identity, &name)) {
        check(name.function_bytes <= HS_JS_NAME_BYTES && name.file_bytes <= HS_JS_FILE_BYTES);
        check(memchr(name.function, '\0', name.function_bytes) == NULL);
        check(memchr(name.file, '\0', name.file_bytes) == NULL);
    }
    hs_v8_text_add(&v8, words[2], &to);
    check(to.bytes <= sizeof(text));
    check(image.read_count < READS_MAX);
    return 0;
}
