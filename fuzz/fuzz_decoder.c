/*
 * Fuzz target: any bytes as a trace, decoded in one pass into tables and a profile at once.
 *
 * If the pass made a profile, it is the same as one that was read by itself. Both are checked
 * against the invariants of profile.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_profile.h"
#include "profile/read/load.h"
#include "sql/import/import.h"

static void check_same(const struct hs_profile *a, const struct hs_profile *b)
{
    check(a->string_count == b->string_count && a->module_count == b->module_count);
    check(a->frame_count == b->frame_count && a->node_count == b->node_count);
    check(a->process_count == b->process_count && a->dump_count == b->dump_count);
    check(a->sample_count == b->sample_count && a->counter_count == b->counter_count);
    check(a->loss_count == b->loss_count && a->change_count == b->change_count);
    check(a->nameless_count == b->nameless_count && a->has_looked_up == b->has_looked_up);
    for (uint32_t i = 0; i < a->string_count; i++) {
        check(strcmp(hs_profile_string(a, i), hs_profile_string(b, i)) == 0);
    }
    for (uint32_t i = 0; i < a->node_count; i++) {
        check(a->nodes[i].parent == b->nodes[i].parent && a->nodes[i].frame == b->nodes[i].frame);
    }
    for (uint64_t i = 0; i < a->sample_count; i++) {
        check(a->samples[i].node == b->samples[i].node && a->samples[i].heap == b->samples[i].heap);
        check(a->samples[i].live.bytes == b->samples[i].live.bytes);
        check(a->samples[i].alloc.bytes == b->samples[i].alloc.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_sql_store *store = hs_sql_store_new();
    struct hs_profile *profile = NULL, *alone = NULL;
    struct hs_load_report report;
    int err = store ? hs_sql_import_both(store, data, size, NULL, &profile, NULL) : 0;
    if (profile) {
        check(err == 0);
        check_profile(profile);
    }
    if (profile && hs_profile_load_memory(data, size, &alone, &report) == 0 &&
        report.kind == HS_LOAD_TRACE) {
        check_same(profile, alone);
    }
    hs_profile_free(profile);
    hs_profile_free(alone);
    hs_sql_store_free(store);
    return 0;
}
