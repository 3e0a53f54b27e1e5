/*
 * See load.h. Opens a file, finds its kind, expands it when it is not a trace, and calls the reader
 * of its kind.
 */
#include "profile/read/load.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/model/loss.h"
#include "profile/read/load_foreign.h"
#include "profile/read/load_trace.h"
#include "rt/base.h"
#include "trace/trace_input.h"

/* So many bytes decide on the kind. */
#define HEAD_BYTES ((size_t)64 << 10)
/*
 * The expanded size of a file that is not a trace. Such files are read as a whole; the largest seen
 * were below 200 MB.
 */
#define FOREIGN_BYTES_MAX ((size_t)2 << 30)

void hs_load_add_losses(struct hs_builder *builder, const struct hs_load_report *report)
{
    const struct hs_trace_damage *damage = &report->damage;
    const struct {
        enum hs_load_loss loss;
        uint64_t count;
        enum hs_loss_unit unit;
    } losses[] = {
        { HS_LOAD_LOSS_TRUNCATED, damage->is_truncated, HS_LOSS_UNIT_FLAG },
        { HS_LOAD_LOSS_SKIPPED_BYTES, damage->skipped_bytes, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_BAD_PACKETS, damage->bad_packet_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_COMPRESSION, damage->has_bad_compression, HS_LOSS_UNIT_FLAG },
        { HS_LOAD_LOSS_TOO_BIG, damage->is_too_big, HS_LOSS_UNIT_FLAG },
        { HS_LOAD_LOSS_DUMPS, report->lost_dump_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_INCOMPLETE_DUMPS, report->incomplete_dump_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_MISSING_PACKETS, report->missing_packet_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_FALLING, report->falling_sample_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_UNRESOLVED, report->unresolved_stack_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_THINNED, report->thinned_dump_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_BAD_RECORDS, report->bad_record_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_BAD_LINES, report->bad_line_count, HS_LOSS_UNIT_ANY },
        { HS_LOAD_LOSS_NO_ALLOC, report->has_no_alloc, HS_LOSS_UNIT_FLAG },
        { HS_LOAD_LOSS_NO_LIVE, report->has_no_live, HS_LOSS_UNIT_FLAG },
    };
    for (size_t i = 0; i < HS_COUNT_OF(losses); i++) {
        hs_loss_add_weighed(builder, HS_PROFILE_NO_PROCESS, hs_loss_of_load(losses[i].loss),
                            losses[i].unit, losses[i].count, 0, 0);
    }
}

static const char *const origins[] = {
    [HS_LOAD_PPROF] = "a pprof profile",
    [HS_LOAD_HEAP_TEXT] = "a heap text",
    [HS_LOAD_FOLDED] = "collapsed stacks",
    [HS_LOAD_MEMORY_INFRA] = "a MemoryInfra trace",
};

/* Expands the first compressed run. It is the whole file, unless something was appended to it. */
static int expand_all(struct hs_trace_input *input, struct hs_trace_damage *damage)
{
    if (!hs_trace_input_next_run(input)) {
        return 0;
    }
    int err = 0;
    for (size_t bytes = HEAD_BYTES; err == 0 && !input->is_whole; bytes *= 2) {
        if (bytes > FOREIGN_BYTES_MAX) {
            damage->is_too_big = true;
            break;
        }
        err = hs_trace_input_want(input, bytes);
    }
    damage->is_truncated |= input->is_truncated;
    damage->has_bad_compression |= input->has_bad_compression;
    damage->is_too_big |= input->is_too_big;
    if (input->is_whole && input->file_at < input->file_bytes) {
        damage->skipped_bytes += input->file_bytes - input->file_at;
    }
    return err;
}

static int read_foreign(enum hs_load_kind kind, struct hs_trace_input *input, bool may_open_modules,
                        struct hs_profile **ret_profile, struct hs_load_report *report)
{
    struct hs_load_source source = {
        .builder = hs_builder_new(),
        .report = report,
        .may_open_modules = may_open_modules,
    };
    int err = source.builder ? expand_all(input, &report->damage) : -ENOMEM;
    if (err == 0) {
        hs_builder_set_origin(source.builder, origins[kind]);
        source.data = input->at;
        source.bytes = input->avail;
        err = kind == HS_LOAD_PPROF          ? hs_load_pprof(&source)
              : kind == HS_LOAD_HEAP_TEXT    ? hs_load_heap_text(&source)
              : kind == HS_LOAD_MEMORY_INFRA ? hs_load_memory_infra(&source)
                                             : hs_load_folded(&source);
    }
    if (err == 0) {
        hs_load_add_losses(source.builder, report);
        err = hs_builder_finish(source.builder, ret_profile);
    }
    hs_builder_free(source.builder);
    return err;
}

int hs_load_find_kind(const void *data, size_t file_bytes, enum hs_load_kind *ret_kind)
{
    struct hs_trace_input head;
    hs_trace_input_init(&head, data, file_bytes);
    int err = 0;
    *ret_kind = HS_LOAD_TRACE;
    if (hs_trace_input_next_run(&head)) {
        err = hs_trace_input_want(&head, HEAD_BYTES);
        size_t bytes = head.avail < HEAD_BYTES ? head.avail : HEAD_BYTES;
        *ret_kind = hs_load_kind_of(head.at, bytes, head.is_whole && bytes == head.avail);
    }
    hs_trace_input_deinit(&head);
    return err;
}

/* Takes over the input. */
static int load_input(struct hs_trace_input *input, bool may_open_modules,
                      struct hs_profile **ret_profile, struct hs_load_report *ret_report)
{
    struct hs_load_report report = { 0 };
    enum hs_load_kind kind;
    int err = hs_load_find_kind(input->file, input->file_bytes, &kind);
    report.kind = kind;
    if (err == 0 && kind == HS_LOAD_TRACE) {
        err = hs_load_trace(input, ret_profile, &report);
    } else if (err == 0) {
        err = read_foreign(kind, input, may_open_modules, ret_profile, &report);
    }
    hs_trace_input_deinit(input);
    if (ret_report) {
        *ret_report = report;
    }
    return err;
}

int hs_profile_load(const char *path, struct hs_profile **ret_profile,
                    struct hs_load_report *ret_report)
{
    struct hs_trace_input input;
    int err = hs_trace_input_open(&input, path);
    return err < 0 ? err : load_input(&input, true, ret_profile, ret_report);
}

int hs_profile_load_memory(const void *data, size_t bytes, struct hs_profile **ret_profile,
                           struct hs_load_report *ret_report)
{
    struct hs_trace_input input;
    hs_trace_input_init(&input, data, bytes);
    return load_input(&input, false, ret_profile, ret_report);
}
