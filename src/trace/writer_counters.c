/* Writes packets of counters, threads and mappings: see trace_counters.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "trace/trace_counters.h"
#include "trace/writer_state.h"
#include "util/utf8.h"

#define ARGS_MAX         1024U
#define THREADS_A_PACKET 2048U

static bool is_ready(struct hs_trace_writer *writer)
{
    if (writer->err == 0 && !writer->has_begun) {
        hs_writer_fail(writer, -EINVAL);
    }
    return writer->err == 0;
}

static void packet_init(struct hs_trace_writer *writer, Hs__Pb__TracePacket *packet,
                        uint64_t time_mono_ns)
{
    hs_writer_refresh_clocks(writer);
    hs_writer_packet_init(writer, packet, time_mono_ns);
}

/* --- counters of a process --- */

static uint64_t kb(const struct hs_counters *counters, enum hs_counter counter)
{
    return (uint64_t)counters->values[counter] / 1024;
}

/* Counters for which Perfetto's message has no field. They are written in a field of our own beside
 * it, because trace_processor checks every field of ProcessStats.Process and reports an unknown one
 * as an error of the trace. */
#define OUR_COUNTERS                                                                               \
    (HS_COUNTER_BIT(HS_COUNTER_MINOR_FAULTS) | HS_COUNTER_BIT(HS_COUNTER_MAJOR_FAULTS) |           \
     HS_COUNTER_BIT(HS_COUNTER_THREADS) | HS_COUNTER_BIT(HS_COUNTER_LIVE))

static void fill_ours(Hs__Pb__HsProcessCounters *out, uint32_t pid,
                      const struct hs_counters *counters)
{
    out->has_pid = true;
    out->pid = pid;
    out->has_minor_fault_count = hs_counters_have(counters, HS_COUNTER_MINOR_FAULTS);
    out->minor_fault_count = (uint64_t)counters->values[HS_COUNTER_MINOR_FAULTS];
    out->has_major_fault_count = hs_counters_have(counters, HS_COUNTER_MAJOR_FAULTS);
    out->major_fault_count = (uint64_t)counters->values[HS_COUNTER_MAJOR_FAULTS];
    out->has_thread_count = hs_counters_have(counters, HS_COUNTER_THREADS);
    out->thread_count = (uint32_t)counters->values[HS_COUNTER_THREADS];
    out->has_live_bytes = hs_counters_have(counters, HS_COUNTER_LIVE);
    out->live_bytes = (uint64_t)counters->values[HS_COUNTER_LIVE];
}

static void fill_memory(Hs__Pb__ProcessStats__Process *out, const struct hs_counters *counters)
{
#define KB(field, counter)                                                                         \
    out->has_##field = hs_counters_have(counters, counter);                                        \
    out->field = kb(counters, counter)
    KB(vm_size_kb, HS_COUNTER_VM_SIZE);
    KB(vm_rss_kb, HS_COUNTER_RSS);
    KB(rss_anon_kb, HS_COUNTER_RSS_ANON);
    KB(rss_file_kb, HS_COUNTER_RSS_FILE);
    KB(rss_shmem_kb, HS_COUNTER_RSS_SHMEM);
    KB(vm_swap_kb, HS_COUNTER_SWAP);
    KB(vm_locked_kb, HS_COUNTER_LOCKED);
    KB(vm_hwm_kb, HS_COUNTER_RSS_PEAK);
    KB(smr_rss_kb, HS_COUNTER_SMAPS_RSS);
    KB(smr_pss_kb, HS_COUNTER_PSS);
    KB(smr_pss_anon_kb, HS_COUNTER_PSS_ANON);
    KB(smr_pss_file_kb, HS_COUNTER_PSS_FILE);
    KB(smr_pss_shmem_kb, HS_COUNTER_PSS_SHMEM);
    KB(smr_swap_pss_kb, HS_COUNTER_SWAP_PSS);
#undef KB
}

int hs_trace_writer_counters(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                             const struct hs_counters *counters)
{
    if (!is_ready(writer) || counters->has_mask == 0) {
        return writer->err;
    }
    Hs__Pb__ProcessStats__Process out = HS__PB__PROCESS_STATS__PROCESS__INIT, *list[1] = { &out };
    out.has_pid = true;
    out.pid = (int32_t)pid;
    fill_memory(&out, counters);
    out.has_oom_score_adj = hs_counters_have(counters, HS_COUNTER_OOM_SCORE_ADJ);
    out.oom_score_adj = counters->values[HS_COUNTER_OOM_SCORE_ADJ];
#define COUNT(field, counter)                                                                      \
    out.has_##field = hs_counters_have(counters, counter);                                         \
    out.field = (uint64_t)counters->values[counter]
    COUNT(runtime_user_mode, HS_COUNTER_RUNTIME_USER);
    COUNT(runtime_kernel_mode, HS_COUNTER_RUNTIME_KERNEL);
#undef COUNT
    Hs__Pb__HsProcessCounters ours = HS__PB__HS_PROCESS_COUNTERS__INIT;
    fill_ours(&ours, pid, counters);
    Hs__Pb__ProcessStats stats = HS__PB__PROCESS_STATS__INIT;
    stats.n_processes = 1;
    stats.processes = list;
    Hs__Pb__TracePacket packet;
    packet_init(writer, &packet, time_mono_ns);
    packet.process_stats = (counters->has_mask & ~OUR_COUNTERS) != 0 ? &stats : NULL;
    packet.heapscope_counters = (counters->has_mask & OUR_COUNTERS) != 0 ? &ours : NULL;
    hs_writer_packet(writer, &packet);
    return writer->err;
}

/* --- processes and threads --- */

static size_t split(char *text, size_t bytes, char **args)
{
    size_t count = 0;
    for (size_t at = 0; at < bytes && count < ARGS_MAX; at += strlen(text + at) + 1) {
        args[count++] = text + at;
    }
    return count;
}

static void write_tree(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                       Hs__Pb__ProcessTree *tree)
{
    Hs__Pb__TracePacket packet;
    packet_init(writer, &packet, time_mono_ns);
    packet.process_tree = tree;
    hs_writer_packet(writer, &packet);
}

static void write_process(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                          const struct hs_trace_tree *from)
{
    char *args[ARGS_MAX];
    int32_t nspids[HS_NSPIDS_MAX];
    const struct hs_proc_identity *process = from->process;
    Hs__Pb__ProcessTree__Process out = HS__PB__PROCESS_TREE__PROCESS__INIT, *list[1] = { &out };
    out.has_pid = out.has_ppid = true;
    out.pid = (int32_t)process->pid;
    out.ppid = (int32_t)process->ppid;
    out.n_cmdline = split(from->cmdline, from->cmdline_bytes, args);
    out.cmdline = args;
    out.has_uid = process->uid >= 0;
    out.uid = (int32_t)process->uid;
    for (uint32_t i = 0; i < process->nspid_count; i++) {
        nspids[i] = (int32_t)process->nspids[i];
    }
    out.n_nspid = process->nspid_count;
    out.nspid = nspids;
    out.has_process_start_from_boot = from->start_boottime_ns != 0;
    out.process_start_from_boot = from->start_boottime_ns;
    out.has_is_kthread = out.is_kthread = process->is_kernel_thread;
    out.has_cmdline_is_comm = out.cmdline_is_comm = from->is_comm;
    Hs__Pb__ProcessTree tree = HS__PB__PROCESS_TREE__INIT;
    tree.n_processes = 1;
    tree.processes = list;
    write_tree(writer, time_mono_ns, &tree);
}

static void write_threads(struct hs_trace_writer *writer, uint64_t time_mono_ns, uint32_t pid,
                          const struct hs_trace_thread *threads, size_t count)
{
    Hs__Pb__ProcessTree__Thread *list = calloc(count, sizeof(*list));
    Hs__Pb__ProcessTree__Thread **pointers = calloc(count, sizeof(*pointers));
    if (!list || !pointers) {
        hs_writer_fail(writer, -ENOMEM);
        free(list);
        free(pointers);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        hs__pb__process_tree__thread__init(&list[i]);
        list[i].has_tid = list[i].has_tgid = true;
        list[i].tid = (int32_t)threads[i].tid;
        list[i].tgid = (int32_t)pid;
        list[i].name = threads[i].name[0] ? (char *)(uintptr_t)threads[i].name : NULL;
        pointers[i] = &list[i];
    }
    Hs__Pb__ProcessTree tree = HS__PB__PROCESS_TREE__INIT;
    tree.n_threads = count;
    tree.threads = pointers;
    write_tree(writer, time_mono_ns, &tree);
    free(list);
    free(pointers);
}

int hs_trace_writer_tree(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                         const struct hs_trace_tree *tree)
{
    if (is_ready(writer) && tree->process) {
        struct hs_pid_state *state = hs_writer_pid(writer, tree->process->pid);
        if (state) {
            state->tree_ppid = tree->process->ppid;
            write_process(writer, time_mono_ns, tree);
        }
    }
    for (size_t i = 0; i < tree->thread_count && writer->err == 0; i += THREADS_A_PACKET) {
        size_t left = tree->thread_count - i;
        write_threads(writer, time_mono_ns, tree->pid, tree->threads + i,
                      left < THREADS_A_PACKET ? left : THREADS_A_PACKET);
    }
    return writer->err;
}

/* --- mappings --- */

/* Makes a name valid UTF-8, as strings of a message must be. Files can have any names. */
static char *clean_name(const char *name)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_utf8_write(&text, name, strlen(name));
    char *copy = strdup(hs_buf_text(&text));
    hs_buf_deinit(&text);
    return copy;
}

static uint64_t *column(const struct hs_proc_smaps_sums *sums, enum hs_smaps_column which,
                        uint64_t *out)
{
    for (uint32_t i = 0; i < sums->row_count; i++) {
        out[i] = sums->rows[i].kb[which];
    }
    return out;
}

static void write_smaps(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                        const struct hs_proc_smaps_sums *sums, char **names, uint32_t *ids,
                        uint32_t *counts, uint64_t *figures)
{
    Hs__Pb__PackedSmaps packed = HS__PB__PACKED_SMAPS__INIT;
    size_t n = sums->row_count;
    packed.n_string_table = packed.n_name_id = packed.n_aggregate_count = n;
    packed.string_table = names;
    packed.name_id = ids;
    packed.aggregate_count = counts;
#define COLUMN(field, which)                                                                       \
    packed.n_##field = n;                                                                          \
    packed.field = column(sums, which, figures + (which)*n)
    COLUMN(size, HS_SMAPS_SIZE);
    COLUMN(rss, HS_SMAPS_RSS);
    COLUMN(anonymous, HS_SMAPS_ANONYMOUS);
    COLUMN(swap, HS_SMAPS_SWAP);
    COLUMN(shared_clean, HS_SMAPS_SHARED_CLEAN);
    COLUMN(shared_dirty, HS_SMAPS_SHARED_DIRTY);
    COLUMN(private_clean, HS_SMAPS_PRIVATE_CLEAN);
    COLUMN(private_dirty, HS_SMAPS_PRIVATE_DIRTY);
    COLUMN(locked, HS_SMAPS_LOCKED);
    COLUMN(pss, HS_SMAPS_PSS);
    COLUMN(pss_dirty, HS_SMAPS_PSS_DIRTY);
    COLUMN(swap_pss, HS_SMAPS_SWAP_PSS);
#undef COLUMN
    Hs__Pb__SmapsPacket smaps = HS__PB__SMAPS_PACKET__INIT;
    smaps.has_pid = smaps.has_recording_type = true;
    smaps.pid = pid;
    smaps.recording_type = 1; /* the process read its own smaps */
    smaps.packed_entries = &packed;
    Hs__Pb__TracePacket packet;
    packet_init(writer, &packet, time_mono_ns);
    packet.smaps_packet = &smaps;
    hs_writer_packet(writer, &packet);
}

int hs_trace_writer_smaps(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                          const struct hs_proc_smaps_sums *sums)
{
    if (!is_ready(writer) || sums->row_count == 0) {
        return writer->err;
    }
    size_t n = sums->row_count;
    char **names = calloc(n, sizeof(names[0]));
    uint32_t *ids = calloc(n, sizeof(ids[0])), *counts = calloc(n, sizeof(counts[0]));
    uint64_t *figures = calloc(n * HS_SMAPS_COLUMN_N, sizeof(figures[0]));
    bool is_full = names && ids && counts && figures;
    for (uint32_t i = 0; i < n && is_full; i++) {
        ids[i] = i;
        counts[i] = (uint32_t)sums->rows[i].mapping_count;
        names[i] = clean_name(hs_proc_smaps_name(sums, i));
        is_full = names[i] != NULL;
    }
    if (is_full) {
        write_smaps(writer, pid, time_mono_ns, sums, names, ids, counts, figures);
    } else {
        hs_writer_fail(writer, -ENOMEM);
    }
    for (size_t i = 0; i < n && names; i++) {
        free(names[i]);
    }
    free(names);
    free(ids);
    free(counts);
    free(figures);
    return writer->err;
}

/* --- the machine --- */

int hs_trace_writer_system(struct hs_trace_writer *writer, uint64_t time_mono_ns,
                           const struct hs_meminfo *meminfo, const struct hs_pressures *pressures)
{
    Hs__Pb__SysStats__MeminfoValue values[HS_MEMINFO_N], *value_list[HS_MEMINFO_N];
    Hs__Pb__SysStats__PsiSample samples[HS_PRESSURE_N], *sample_list[HS_PRESSURE_N];
    Hs__Pb__SysStats stats = HS__PB__SYS_STATS__INIT;
    stats.meminfo = value_list;
    stats.psi = sample_list;
    for (uint32_t i = 1; meminfo && i < HS_MEMINFO_N; i++) {
        if (meminfo->has_mask >> i & 1) {
            Hs__Pb__SysStats__MeminfoValue *out = &values[stats.n_meminfo];
            hs__pb__sys_stats__meminfo_value__init(out);
            out->has_key = out->has_value = true;
            out->key = (Hs__Pb__MeminfoCounter)i;
            out->value = meminfo->values_bytes[i] / 1024;
            value_list[stats.n_meminfo++] = out;
        }
    }
    for (uint32_t i = 1; pressures && i < HS_PRESSURE_N; i++) {
        if (pressures->has_mask >> i & 1) {
            Hs__Pb__SysStats__PsiSample *out = &samples[stats.n_psi];
            hs__pb__sys_stats__psi_sample__init(out);
            out->has_resource = out->has_total_ns = true;
            out->resource = (Hs__Pb__SysStats__PsiSample__PsiResource)i;
            out->total_ns = pressures->total_ns[i];
            sample_list[stats.n_psi++] = out;
        }
    }
    if (!is_ready(writer) || stats.n_meminfo + stats.n_psi == 0) {
        return writer->err;
    }
    Hs__Pb__TracePacket packet;
    packet_init(writer, &packet, time_mono_ns);
    packet.sys_stats = &stats;
    hs_writer_packet(writer, &packet);
    return writer->err;
}

int hs_trace_writer_unread(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_mono_ns,
                           const char *file, const char *why)
{
    if (!is_ready(writer)) {
        return writer->err;
    }
    Hs__Pb__HsUnread unread = HS__PB__HS_UNREAD__INIT;
    unread.has_pid = true;
    unread.pid = pid;
    unread.file = (char *)(uintptr_t)file;
    unread.why = (char *)(uintptr_t)why;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.unread = &unread;
    Hs__Pb__TracePacket packet;
    packet_init(writer, &packet, time_mono_ns);
    packet.heapscope = &heapscope;
    hs_writer_packet(writer, &packet);
    return writer->err;
}
