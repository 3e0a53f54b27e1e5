/*
 * Fuzz target: .eh_frame_hdr together with .eh_frame on hostile bytes: the search table and the
 * entries it points to.
 *
 * Input: two bytes, the size of the header; the header; the rest is .eh_frame. Both are copied to
 * memory of their exact size.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/rule_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HDR_VA   UINT64_C(0x400000)
#define FRAME_VA UINT64_C(0x401000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t hdr_bytes;
    if (size < sizeof(hdr_bytes)) {
        return 0;
    }
    memcpy(&hdr_bytes, data, sizeof(hdr_bytes));
    data += sizeof(hdr_bytes);
    size -= sizeof(hdr_bytes);
    if (hdr_bytes > size) {
        return 0;
    }
    size_t frame_bytes = size - hdr_bytes;
    uint8_t *hdr = malloc((size_t)hdr_bytes + 1), *frame = malloc(frame_bytes + 1);
    if (hdr && frame) {
        memcpy(hdr, data, hdr_bytes);
        memcpy(frame, data + hdr_bytes, frame_bytes);
        struct hs_unwind_module module = { .end_va = UINT64_MAX,
                                           .eh_hdr = { hdr, HDR_VA, hdr_bytes },
                                           .eh_frame = { frame, FRAME_VA, frame_bytes } };
        /* The range that entries near the header can name. */
        for (uint64_t pc = HDR_VA - 0x800; pc < HDR_VA + 0x2000; pc += 0x7d) {
            hs_rule_make(&module, pc, pc & 1);
        }
        hs_rule_make(&module, 0, true);
        hs_rule_make(&module, UINT64_MAX, true);
    }
    free(frame);
    free(hdr);
    return 0;
}
