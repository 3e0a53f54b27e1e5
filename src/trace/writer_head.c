/*
 * The head of a dump, the first of our own packets of it: what is known of the process, totals,
 * counters, modules and threads.
 *
 * See       writer_state.h, proto/heapscope.proto
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "trace/writer_heaps.h"
#include "trace/writer_ledger.h"
#include "trace/writer_state.h"

static Hs__Pb__HsAmount *amount(Hs__Pb__HsAmount *out, const struct hs_estimate *estimate)
{
    hs__pb__hs_amount__init(out);
    out->has_bytes = out->has_count = true;
    out->bytes = estimate->bytes;
    out->count = estimate->count;
    out->has_bytes_var = estimate->bytes_var != 0;
    out->bytes_var = estimate->bytes_var;
    out->has_count_var = estimate->count_var != 0;
    out->count_var = estimate->count_var;
    return out;
}

/* Everything that the encoded head points to. */
struct head {
    Hs__Pb__HsAmount live, alloc, peak;
    Hs__Pb__HsModules modules;
    uint64_t *module_numbers;
    uint32_t *module_kinds;
    Hs__Pb__HsThread *threads;
    Hs__Pb__HsThread **thread_pointers;
    Hs__Pb__HsAmount *thread_live;
    Hs__Pb__HsLossTime *loss_times, **loss_time_pointers;
    Hs__Pb__HsChange *changes;
    Hs__Pb__HsChange **change_pointers;
    uint64_t lost_bytes[HS_LOSS_N], lost_alloc_fx[HS_LOSS_N];
    uint64_t stack_end_bytes[HS_STACK_END_N], stack_end_alloc_fx[HS_STACK_END_N];
    Hs__Pb__HsGuessed guessed[32], *guessed_pointers[32];
    Hs__Pb__HsCut cut[32], *cut_pointers[32];
    struct hs_heap_packets heaps;
    struct hs_ledger_packets ledgers;
};

static void head_deinit(struct head *head)
{
    free(head->module_numbers);
    free(head->module_kinds);
    free(head->threads);
    free(head->thread_pointers);
    free(head->thread_live);
    free(head->changes);
    free(head->loss_times);
    free(head->loss_time_pointers);
    free(head->change_pointers);
    hs_heap_packets_deinit(&head->heaps);
    hs_ledger_packets_deinit(&head->ledgers);
}

static int fill_modules(struct head *head, const struct hs_writer_dump *dump, Hs__Pb__HsDump *out)
{
    const struct hs_snapshot *snap = dump->snap;
    size_t room = (size_t)snap->module_count + 1, n = 0;
    head->module_numbers = calloc(room * 5, sizeof(uint64_t));
    head->module_kinds = calloc(room, sizeof(uint32_t));
    if (!head->module_numbers || !head->module_kinds) {
        return -ENOMEM;
    }
    uint64_t *columns[5];
    for (size_t c = 0; c < 5; c++) {
        columns[c] = head->module_numbers + c * room;
    }
    for (uint32_t i = 0; i < snap->module_count; i++) {
        const struct hs_snap_module *module = &snap->modules[i];
        if (dump->mapping_iids[i] != 0) {
            columns[0][n] = dump->mapping_iids[i];
            columns[1][n] = module->start_va;
            columns[2][n] = module->end_va;
            columns[3][n] = module->bias_va;
            columns[4][n] = module->unload_ns;
            head->module_kinds[n++] = module->kind;
        }
    }
    struct hs_intern_key key = hs_intern_hash(head->module_numbers, room * 5 * sizeof(uint64_t));
    if (n == 0 || key.lo == dump->process->modules_hash) {
        return 0;
    }
    dump->process->modules_hash = key.lo;
    hs__pb__hs_modules__init(&head->modules);
    head->modules.n_mapping_iid = head->modules.n_start_va = head->modules.n_end_va =
        head->modules.n_bias_va = head->modules.n_unload_ns = head->modules.n_kind = n;
    head->modules.mapping_iid = columns[0];
    head->modules.start_va = columns[1];
    head->modules.end_va = columns[2];
    head->modules.bias_va = columns[3];
    head->modules.unload_ns = columns[4];
    head->modules.kind = head->module_kinds;
    out->modules = &head->modules;
    return 0;
}

static int fill_threads(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    size_t count = 0, room = (size_t)snap->thread_count + 1;
    head->threads = calloc(room, sizeof(head->threads[0]));
    head->thread_pointers = calloc(room, sizeof(head->thread_pointers[0]));
    head->thread_live = calloc(room, sizeof(head->thread_live[0]));
    if (!head->threads || !head->thread_pointers || !head->thread_live) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < snap->thread_count; i++) {
        const struct hs_snap_thread *from = &snap->threads[i];
        if (i > 0 && from->live.count == 0) {
            continue; /* it has a part of the peak: see writer_parts.c */
        }
        Hs__Pb__HsThread *thread = head->thread_pointers[count] = &head->threads[count];
        hs__pb__hs_thread__init(thread);
        thread->has_tid = thread->has_start_ms = thread->has_id = true;
        thread->id = from->id;
        thread->tid = from->tid;
        thread->start_ms = from->start_ms;
        thread->name = (char *)(uintptr_t)from->name;
        thread->live = amount(&head->thread_live[count++], &from->live);
    }
    out->n_threads = count;
    out->threads = head->thread_pointers;
    return 0;
}

/* Describes the process: in the first dump, and when part of the description has changed (a name,
 * the malloc library found). */
static void fill_info(const struct hs_writer_dump *dump, Hs__Pb__HsDump *out)
{
    const struct hs_snapshot *snap = dump->snap;
    const char *exe = snap->exe ? snap->exe : "";
    struct hs_intern_key key = hs_intern_hash(snap->comm, strlen(snap->comm));
    struct hs_intern_key exe_key = hs_intern_hash(exe, strlen(exe));
    struct hs_intern_key malloc_key = hs_intern_hash(snap->malloc_path, strlen(snap->malloc_path));
    key = hs_intern_mix(hs_intern_mix(key, exe_key.lo), malloc_key.lo);
    if (dump->process->dump_count > 0 && key.lo == dump->process->info_hash) {
        return;
    }
    dump->process->info_hash = key.lo;
    out->comm = (char *)(uintptr_t)snap->comm;
    out->exe = (char *)(uintptr_t)exe;
    out->malloc_path = (char *)(uintptr_t)snap->malloc_path;
}

/* Writes what the lost samples and the incomplete stacks stand for. */
static void fill_weights(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    const double count_scale = 1U << HS_COUNT_SHIFT;
    for (size_t i = 0; i < HS_LOSS_N; i++) {
        head->lost_bytes[i] = hs_writer_round(snap->lost_bytes[i]);
        head->lost_alloc_fx[i] = hs_writer_round(snap->lost_allocs[i] * count_scale);
    }
    for (size_t i = 0; i < HS_STACK_END_N; i++) {
        head->stack_end_bytes[i] = hs_writer_round(snap->stack_end_bytes[i]);
        head->stack_end_alloc_fx[i] = hs_writer_round(snap->stack_end_allocs[i] * count_scale);
    }
    out->n_lost_bytes = out->n_lost_alloc_fx = HS_LOSS_N;
    out->lost_bytes = head->lost_bytes;
    out->lost_alloc_fx = head->lost_alloc_fx;
    out->n_stack_end_bytes = out->n_stack_end_alloc_fx = HS_STACK_END_N;
    out->stack_end_bytes = head->stack_end_bytes;
    out->stack_end_alloc_fx = head->stack_end_alloc_fx;
    out->has_lost_scope_count = snap->lost_scope_count > 0;
    out->lost_scope_count = snap->lost_scope_count;
    out->has_unread_interpreters = snap->unread_interpreters != 0;
    out->unread_interpreters = snap->unread_interpreters;
}

/* Programs have few modules without unwind information. */
static void fill_guesses(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < snap->module_count && count < HS_COUNT_OF(head->guessed); i++) {
        const struct hs_snap_module *module = &snap->modules[i];
        if (module->guessed_stack_count > 0) {
            Hs__Pb__HsGuessed *guessed = &head->guessed[count];
            hs__pb__hs_guessed__init(guessed);
            guessed->module = module->path;
            guessed->has_is_jit = true;
            guessed->is_jit = module->kind == HS_MODULE_ANON;
            guessed->has_stack_count = guessed->has_bytes = guessed->has_alloc_fx = true;
            guessed->stack_count = module->guessed_stack_count;
            guessed->bytes = hs_writer_round(module->guessed_bytes);
            guessed->alloc_fx =
                hs_writer_round(module->guessed_allocs * (double)(1U << HS_COUNT_SHIFT));
            head->guessed_pointers[count++] = guessed;
        }
    }
    out->n_guessed = count;
    out->guessed = head->guessed_pointers;
}

/* The next module after those with more allocated bytes than `below`, or the same and a lower
 * index than `from`; UINT32_MAX: there is none. */
static uint32_t next_cut(const struct hs_snapshot *snap, double below, uint32_t from)
{
    uint32_t most = UINT32_MAX;
    for (uint32_t i = 0; i < snap->module_count; i++) {
        const struct hs_snap_module *module = &snap->modules[i];
        bool is_left = module->cut_bytes < below || (module->cut_bytes == below && i >= from);
        if (module->cut_stack_count > 0 && is_left &&
            (most == UINT32_MAX || module->cut_bytes > snap->modules[most].cut_bytes)) {
            most = i;
        }
    }
    return most;
}

static void fill_cuts(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    size_t count = 0;
    for (uint32_t i = next_cut(snap, INFINITY, 0);
         i != UINT32_MAX && count < HS_COUNT_OF(head->cut);
         i = next_cut(snap, snap->modules[i].cut_bytes, i + 1)) {
        const struct hs_snap_module *module = &snap->modules[i];
        Hs__Pb__HsCut *cut = &head->cut[count];
        hs__pb__hs_cut__init(cut);
        cut->module = module->path;
        cut->has_reason = cut->has_stack_count = cut->has_bytes = cut->has_alloc_fx =
            cut->has_live_bytes = true;
        cut->reason = module->unwind_reason;
        cut->stack_count = module->cut_stack_count;
        cut->bytes = hs_writer_round(module->cut_bytes);
        cut->alloc_fx = hs_writer_round(module->cut_allocs * (double)(1U << HS_COUNT_SHIFT));
        cut->live_bytes = hs_writer_round(module->cut_live_bytes);
        head->cut_pointers[count++] = cut;
    }
    out->n_cut = count;
    out->cut = head->cut_pointers;
}

static void fill_counters(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    HS_SET_FIELD(out, sample_count, snap->sample_count);
    HS_SET_FIELD(out, free_count, snap->free_count);
    HS_SET_FIELD(out, replay_count, snap->replay_count);
    if (snap->client_cpu_ns != 0) {
        HS_SET_FIELD(out, client_cpu_ns, snap->client_cpu_ns);
    }
    HS_SET_FIELD(out, walk_count, snap->walk_count);
    HS_SET_FIELD(out, bad_count, snap->bad_count);
    HS_SET_FIELD(out, rss_bytes, snap->rss_bytes);
    HS_SET_FIELD(out, rss_peak_bytes, snap->rss_peak_bytes);
    if (snap->is_oom_killed) {
        HS_SET_FIELD(out, is_oom_killed, true);
    }
    if (snap->rss_start_bytes != 0) {
        HS_SET_FIELD(out, rss_start_bytes, snap->rss_start_bytes);
    }
    HS_SET_FIELD(out, region_bytes, snap->region_bytes);
    HS_SET_FIELD(out, interval_bytes, snap->interval_bytes);
    if (snap->forked_from_pid != 0 && snap->is_inherited_known) {
        /* Also written when they are 0: nothing is shared with the parent. */
        HS_SET_FIELD(out, inherited_bytes_var, snap->inherited.bytes_var);
        HS_SET_FIELD(out, inherited_count_var, snap->inherited.count_var);
        HS_SET_FIELD(out, inherited_sample_count, snap->inherited_sample_count);
    }
    HS_SET_FIELD(out, orig_interval_bytes, snap->orig_interval_bytes);
    out->n_lost_count = HS_LOSS_N;
    out->lost_count = (uint64_t *)(uintptr_t)snap->lost_count;
    out->n_stack_end_count = HS_STACK_END_N;
    out->stack_end_count = (uint64_t *)(uintptr_t)snap->stack_end_count;
    fill_weights(head, snap, out);
    fill_guesses(head, snap, out);
    fill_cuts(head, snap, out);
}

static int fill_changes(struct head *head, const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    size_t count = snap->change_count;
    head->changes = calloc(count + 1, sizeof(head->changes[0]));
    head->change_pointers = calloc(count + 1, sizeof(head->change_pointers[0]));
    if (!head->changes || !head->change_pointers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_change *from = &snap->changes[i];
        Hs__Pb__HsChange *change = head->change_pointers[i] = &head->changes[i];
        hs__pb__hs_change__init(change);
        change->has_time_ns = change->has_from_interval_bytes = change->has_to_interval_bytes =
            change->has_reason = change->has_limit = change->has_rarity = true;
        change->time_ns = from->time_mono_ns;
        change->from_interval_bytes = from->from_bytes;
        change->to_interval_bytes = from->to_bytes;
        change->reason = from->reason;
        change->limit = from->limit;
        change->rarity = from->rarity;
    }
    out->n_changes = count;
    out->changes = head->change_pointers;
    return 0;
}

/* Writes when something was lost, if that has changed since the previous dump. */
static int fill_loss_times(struct head *head, const struct hs_writer_dump *dump,
                           Hs__Pb__HsDump *out)
{
    const struct hs_snapshot *snap = dump->snap;
    size_t count = snap->loss_time_count;
    if (count == 0) {
        return 0;
    }
    struct hs_intern_key key = hs_intern_hash(snap->loss_times, count * sizeof(*snap->loss_times));
    if (key.lo == dump->process->loss_times_hash) {
        return 0;
    }
    head->loss_times = calloc(count, sizeof(head->loss_times[0]));
    head->loss_time_pointers = calloc(count, sizeof(head->loss_time_pointers[0]));
    if (!head->loss_times || !head->loss_time_pointers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_loss_time *from = &snap->loss_times[i];
        Hs__Pb__HsLossTime *it = head->loss_time_pointers[i] = &head->loss_times[i];
        hs__pb__hs_loss_time__init(it);
        it->has_loss = it->has_from_ns = it->has_to_ns = it->has_count = true;
        it->loss = (uint32_t)from->loss;
        it->from_ns = from->from_mono_ns;
        it->to_ns = from->to_mono_ns;
        it->count = from->count;
    }
    dump->process->loss_times_hash = key.lo;
    out->n_loss_times = count;
    out->loss_times = head->loss_time_pointers;
    return 0;
}

/* Writes why the dump is empty. */
static void fill_refusal(const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    if (snap->refusal == HS_REFUSAL_NONE) {
        return;
    }
    out->has_refusal = true;
    out->refusal = (uint32_t)snap->refusal;
    out->has_is_rejected = out->is_rejected = snap->refusal == HS_REFUSAL_CONCURRENT;
    if (snap->words) {
        out->refusal_text = (char *)(uintptr_t)snap->words->what;
        out->refusal_remedy = (char *)(uintptr_t)snap->words->remedy;
    }
}

/* Says which packets follow. */
static void fill_contents(const struct hs_snapshot *snap, Hs__Pb__HsDump *out)
{
    out->has_has_types = out->has_types = snap->has_types;
    if (snap->types_time_mono_ns > 0) {
        HS_SET_FIELD(out, types_time_ns, snap->types_time_mono_ns);
    }
    if (snap->python_state == HS_PYTHON_STATE_UNKNOWN ||
        snap->python_state == HS_PYTHON_STATE_REFUSED) {
        HS_SET_FIELD(out, python_state, snap->python_state);
        HS_SET_FIELD(out, python_version, snap->python_version);
    }
    if (snap->java_refusal != HS_JAVA_READ) {
        HS_SET_FIELD(out, java_refusal, snap->java_refusal);
        HS_SET_FIELD(out, java_version, snap->java_version);
    }
    out->has_is_without_types = out->is_without_types = snap->is_without_types;
    out->has_has_lifetimes = out->has_lifetimes = snap->has_lifetimes;
    out->has_has_blocks = out->has_blocks = snap->has_blocks;
    if (snap->block_left_out_count > 0) {
        HS_SET_FIELD(out, block_left_out_count, snap->block_left_out_count);
    }
}

int hs_writer_head(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    struct head *head = calloc(1, sizeof(*head));
    if (!head) {
        return -ENOMEM;
    }
    Hs__Pb__HsDump dump_message = HS__PB__HS_DUMP__INIT, *out = &dump_message;
    HS_SET_FIELD(out, process_idx, dump->process->process_idx);
    HS_SET_FIELD(out, pid, snap->pid);
    HS_SET_FIELD(out, ppid, snap->ppid);
    HS_SET_FIELD(out, forked_from_pid, snap->forked_from_pid);
    HS_SET_FIELD(out, dump_idx, dump->process->dump_count);
    HS_SET_FIELD(out, start_mono_ns, snap->start_mono_ns);
    HS_SET_FIELD(out, window_start_ns, dump->window_start_ns);
    HS_SET_FIELD(out, time_ns, dump->time_ns);
    HS_SET_FIELD(out, peak_time_ns, snap->peak_time_mono_ns);
    HS_SET_FIELD(out, peak_short_bytes, snap->peak_short_bytes);
    HS_SET_FIELD(out, is_final, snap->is_final);
    if (writer->config.is_at_max) {
        HS_SET_FIELD(out, is_at_max, true);
    }
    HS_SET_FIELD(out, is_from_startup, snap->is_from_startup);
    fill_contents(snap, out);
    HS_SET_FIELD(out, has_own_malloc, snap->has_own_malloc);
    HS_SET_FIELD(out, exit_kind, (uint32_t)snap->exit_kind);
    HS_SET_FIELD(out, exit_value, snap->exit_value);
    out->live = amount(&head->live, &snap->live);
    out->alloc = amount(&head->alloc, &snap->alloc);
    out->peak = amount(&head->peak, &snap->peak);
    fill_counters(head, snap, out);
    fill_info(dump, out);
    fill_refusal(snap, out);
    out->has_is_without_malloc = out->is_without_malloc = snap->is_without_malloc;
    out->n_asked_heaps = snap->asked_heap_count;
    out->asked_heaps = (char **)(uintptr_t)snap->asked_heaps;
    out->name = snap->name[0] ? (char *)(uintptr_t)snap->name : NULL;
    int err = hs_writer_heaps_fill(writer, dump, &head->heaps, out);
    if (err == 0) {
        err = fill_modules(head, dump, out);
    }
    if (err == 0) {
        err = fill_threads(head, snap, out);
    }
    if (err == 0) {
        err = fill_changes(head, snap, out);
    }
    if (err == 0) {
        err = fill_loss_times(head, dump, out);
    }
    if (err == 0) {
        err = hs_writer_ledgers_fill(dump, &head->ledgers, out);
    }
    if (err == 0) {
        Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
        heapscope.dump = out;
        hs_writer_ours(writer, dump->time_ns, &heapscope);
    }
    head_deinit(head);
    free(head);
    return err;
}
