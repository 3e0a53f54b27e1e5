/*
 * See page_base64.h.
 */
#include "page/page_base64.h"

#include "util/buf.h"

#define GROUP 3U

/* Writes a group of 1 to 3 bytes as four characters. */
static void write_group(struct hs_buf *out, const uint8_t *group, unsigned count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t word = (uint32_t)group[0] << 16 | (uint32_t)(count > 1 ? group[1] : 0) << 8 |
                    (uint32_t)(count > 2 ? group[2] : 0);
    char text[4] = { digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63],
                     digits[word & 63] };
    for (unsigned i = count + 1; i < sizeof(text); i++) {
        text[i] = '=';
    }
    hs_buf_add(out, text, sizeof(text));
}

int hs_page_base64_sink(void *ctx, const void *data, size_t bytes)
{
    struct hs_page_base64 *base64 = ctx;
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) {
        base64->rest[base64->rest_count++] = at[i];
        if (base64->rest_count == GROUP) {
            write_group(base64->out, base64->rest, GROUP);
            base64->rest_count = 0;
        }
    }
    return base64->out->err;
}

int hs_page_base64_finish(struct hs_page_base64 *base64)
{
    if (base64->rest_count > 0) {
        write_group(base64->out, base64->rest, base64->rest_count);
        base64->rest_count = 0;
    }
    return base64->out->err;
}
