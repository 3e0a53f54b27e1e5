/*
 * Fuzz target: any bytes as a MemoryInfra trace of Chrome. Reading must not crash, and its memory
 * and time must stay in proportion to the input. The same bytes are searched for addresses.
 *
 * Holds     the strings of addresses lie in the input, one behind the other, each with its quotes.
 */
#include "profile/read/infra_pcs.h"
#include "read_foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void find_pcs(const char *text, size_t bytes)
{
    struct hs_infra_pcs pcs;
    size_t end = 0;
    if (hs_infra_pcs_find(&pcs, text, bytes) != 0) {
        abort();
    }
    for (size_t i = 0; i < pcs.count; i++) {
        const struct hs_infra_pc *pc = &pcs.pcs[i];
        if (pc->text_off < end || pc->text_bytes < 2 || pc->text_bytes > bytes - pc->text_off ||
            text[pc->text_off] != '"' || text[pc->text_off + pc->text_bytes - 1] != '"' ||
            (pc->module != HS_INFRA_NOWHERE && pc->module >= pcs.module_ids.count)) {
            abort();
        }
        end = pc->text_off + pc->text_bytes;
    }
    hs_infra_pcs_deinit(&pcs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    find_pcs((const char *)data, bytes);
    read_with(hs_load_memory_infra, data, bytes);
    (void)hs_load_kind_of(data, bytes, true);
    return 0;
}
