/*
 * Fills HsLedger: see writer_ledger.h.
 */
#include "trace/writer_ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "rt/base.h"

#define COLUMN_COUNT        7U /* of which `kind` has narrower numbers */
#define STACK_COLUMN_COUNT  5U
#define BLOCKS_COLUMN_COUNT 5U /* of which one has no fractions */

static int fill(const struct hs_ledger *ledger, bool is_rss_peak, Hs__Pb__HsLedger *out,
                uint64_t **ret_numbers, char ***ret_names)
{
    size_t count = ledger->line_count;
    uint64_t *numbers = calloc(count * COLUMN_COUNT + 1, sizeof(numbers[0]));
    char **names = calloc(count + 1, sizeof(names[0]));
    uint64_t *columns[COLUMN_COUNT];
    *ret_numbers = numbers;
    *ret_names = names;
    if (!numbers || !names) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        columns[c] = numbers + c * count;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hs_ledger_line *line = &ledger->lines[i];
        ((uint32_t *)columns[0])[i] = line->kind;
        columns[1][i] = line->count;
        columns[2][i] = line->size_bytes;
        columns[3][i] = line->rss_bytes;
        columns[4][i] = line->pss_bytes;
        columns[5][i] = line->swap_bytes;
        columns[6][i] = line->rss_margin_bytes;
        names[i] = line->name;
    }
    *out = (Hs__Pb__HsLedger)HS__PB__HS_LEDGER__INIT;
    out->has_time_ns = out->has_rss_bytes = out->has_pss_bytes = out->has_swap_bytes = true;
    out->time_ns = ledger->time_mono_ns;
    out->rss_bytes = ledger->rss_bytes;
    out->pss_bytes = ledger->pss_bytes;
    out->swap_bytes = ledger->swap_bytes;
    out->has_page_table_bytes = true;
    out->page_table_bytes = ledger->page_table_bytes;
    out->has_hugetlb_bytes = ledger->hugetlb_bytes != 0;
    out->hugetlb_bytes = ledger->hugetlb_bytes;
    out->has_is_rss_peak = out->is_rss_peak = is_rss_peak;
    out->has_malloc_result = ledger->malloc_result != 0;
    out->malloc_result = ledger->malloc_result;
    out->has_arena_count = ledger->arena_count != 0;
    out->arena_count = ledger->arena_count;
    out->has_is_free_cut = out->is_free_cut = ledger->is_free_cut;
    out->has_trim_bytes = ledger->trim_bytes != 0;
    out->trim_bytes = ledger->trim_bytes;
    out->has_trim_margin_bytes = out->has_malloc_part_share = ledger->malloc_part_share > 1;
    out->trim_margin_bytes = ledger->trim_margin_bytes;
    out->malloc_part_share = ledger->malloc_part_share;
    out->n_kind = out->n_name = out->n_count = out->n_size_bytes = count;
    out->n_line_rss_bytes = out->n_line_pss_bytes = out->n_line_swap_bytes = count;
    out->kind = (uint32_t *)columns[0];
    out->count = columns[1];
    out->size_bytes = columns[2];
    out->line_rss_bytes = columns[3];
    out->line_pss_bytes = columns[4];
    out->line_swap_bytes = columns[5];
    out->name = names;
    out->n_line_rss_margin_bytes = ledger->malloc_part_share > 1 ? count : 0;
    out->line_rss_margin_bytes = columns[6];
    return 0;
}

/* Fills in what of the lines is in blocks, unless nothing is. */
static int fill_blocks(const struct hs_ledger *ledger, Hs__Pb__HsLedger *out, double **ret_numbers)
{
    size_t count = ledger->line_count;
    bool has_any = false;
    double *numbers = calloc(count * BLOCKS_COLUMN_COUNT + 1, sizeof(numbers[0]));
    *ret_numbers = numbers;
    if (!numbers) {
        return -ENOMEM;
    }
    out->blocks_bytes = numbers;
    out->blocks_sampled_bytes = numbers + count;
    out->blocks_variance = numbers + 2 * count;
    out->blocks_weight_bytes = numbers + 3 * count;
    uint64_t *used_bytes = (uint64_t *)(numbers + 4 * count);
    out->blocks_used_bytes = used_bytes;
    for (size_t i = 0; i < count; i++) {
        const struct hs_ledger_blocks *blocks = &ledger->lines[i].blocks;
        out->blocks_bytes[i] = blocks->bytes;
        out->blocks_sampled_bytes[i] = blocks->sampled_bytes;
        out->blocks_variance[i] = blocks->variance;
        out->blocks_weight_bytes[i] = blocks->weight_bytes;
        used_bytes[i] = blocks->used_bytes;
        has_any |= blocks->bytes > 0 || blocks->weight_bytes > 0 || blocks->used_bytes > 0;
    }
    size_t written = has_any ? count : 0;
    out->n_blocks_bytes = out->n_blocks_sampled_bytes = written;
    out->n_blocks_variance = out->n_blocks_weight_bytes = out->n_blocks_used_bytes = written;
    return 0;
}

/* Fills in the stacks. Those that the snapshot does not have are left out. */
static int fill_stacks(const struct hs_writer_dump *dump, const struct hs_ledger *ledger,
                       Hs__Pb__HsLedger *out, uint64_t **ret_numbers)
{
    size_t capacity = ledger->stack_count, count = 0;
    uint64_t *numbers = calloc(capacity * STACK_COLUMN_COUNT + 1, sizeof(numbers[0]));
    *ret_numbers = numbers;
    if (!numbers) {
        return -ENOMEM;
    }
    out->stack_callstack_iid = numbers;
    out->stack_count = numbers + capacity;
    out->stack_size_bytes = numbers + 2 * capacity;
    out->stack_rss_bytes = numbers + 3 * capacity;
    out->stack_swap_bytes = numbers + 4 * capacity;
    for (size_t i = 0; i < capacity; i++) {
        const struct hs_ledger_stack *stack = &ledger->stacks[i];
        uint64_t iid = hs_writer_callstack_iid(dump, stack->stack_id);
        if (iid != 0) {
            out->stack_callstack_iid[count] = iid;
            out->stack_count[count] = stack->count;
            out->stack_size_bytes[count] = stack->size_bytes;
            out->stack_rss_bytes[count] = stack->rss_bytes;
            out->stack_swap_bytes[count++] = stack->swap_bytes;
        }
    }
    out->n_stack_callstack_iid = out->n_stack_count = out->n_stack_size_bytes = count;
    out->n_stack_rss_bytes = out->n_stack_swap_bytes = count;
    return 0;
}

int hs_writer_ledgers_fill(const struct hs_writer_dump *dump, struct hs_ledger_packets *packets,
                           Hs__Pb__HsDump *out)
{
    const struct hs_snapshot *snap = dump->snap;
    struct hs_written_process *process = dump->process;
    const struct hs_ledger *ledgers[] = { snap->ledger, snap->rss_peak_ledger };
    if (snap->ledger && snap->ledger->time_mono_ns == process->ledger_time_ns) {
        return 0; /* readers keep those of the dump before */
    }
    process->ledger_time_ns = snap->ledger ? snap->ledger->time_mono_ns : 0;
    out->ledgers = packets->pointers;
    for (size_t i = 0; i < HS_COUNT_OF(ledgers); i++) {
        if (ledgers[i]) {
            int r = fill(ledgers[i], i == 1, &packets->ledgers[i], &packets->numbers[i],
                         &packets->names[i]);
            r = r < 0 ? r
                      : fill_stacks(dump, ledgers[i], &packets->ledgers[i],
                                    &packets->stack_numbers[i]);
            r = r < 0 ? r
                      : fill_blocks(ledgers[i], &packets->ledgers[i], &packets->block_numbers[i]);
            if (r < 0) {
                return r;
            }
            packets->pointers[out->n_ledgers++] = &packets->ledgers[i];
        }
    }
    hs_writer_pins_fill(dump, &packets->pins, out);
    return 0;
}

void hs_ledger_packets_deinit(struct hs_ledger_packets *packets)
{
    for (size_t i = 0; i < HS_COUNT_OF(packets->ledgers); i++) {
        free(packets->numbers[i]);
        free(packets->names[i]);
        free(packets->stack_numbers[i]);
        free(packets->block_numbers[i]);
    }
}
