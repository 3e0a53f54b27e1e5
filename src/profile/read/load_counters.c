/*
 * Reads the counters of a trace: ProcessStats and SysStats of any recorder, and heapscope's own
 * counters.
 *
 * Packets name only a pid, and come before the packets of the heap. The program image of a counter
 * is therefore found at the end: it is the last one of its pid that had begun at that time.
 *
 * Holds     at most POINTS_MAX counters are kept. Of a longer file every second one of each track
 *           is kept, then every fourth, and so on, evenly over its time.
 *
 * See       load_state.h, util/proc_counters.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/load_state.h"
#include "rt/check.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/proc_counters.h"
#include "util/proc_system.h"
#include "util/saturate.h"

#define POINTS_MAX         (1U << 20)
#define UNREAD_MAX         1024U
#define CLOCK_MONOTONIC_ID 3U

/*
 * Numbers of the tracks of a pid: first counters of a process, then lines of meminfo, then
 * pressures.
 */
#define KIND_MEMINFO  HS_COUNTER_N
#define KIND_PRESSURE (KIND_MEMINFO + HS_MEMINFO_N)

struct track {
    uint32_t pid, kind;
    uint32_t skip; /* number of counters to skip before the next one that is kept */
};

struct point {
    uint32_t track;
    uint32_t pid, kind; /* of the track */
    uint32_t process;   /* set at the end */
    uint64_t time_ns;
    int64_t value;
};

struct hs_load_counters {
    struct hs_intern_array track_ids; /* (pid, kind) */
    struct track *tracks;
    struct point *points;
    size_t point_count, point_capacity;
    uint32_t stride; /* one in so many counters of a track is kept */
    bool is_full;    /* all tracks have one counter each, so that nothing can be thinned out */
    struct {
        uint32_t pid, text;
    } * unread;
    size_t unread_count, unread_capacity;
};

static struct hs_load_counters *get(struct hs_load *load)
{
    if (!load->counters) {
        load->counters = calloc(1, sizeof(*load->counters));
        if (load->counters) {
            load->counters->stride = 1;
        } else {
            load->err = -ENOMEM;
        }
    }
    return load->counters;
}

/* Drops every second counter of each track. */
static void thin(struct hs_load *load, struct hs_load_counters *c)
{
    uint32_t track_count = c->track_ids.ids.count;
    bool *is_odd = calloc((size_t)track_count + 1, sizeof(is_odd[0]));
    size_t kept = 0;
    if (!is_odd) {
        load->err = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < c->point_count; i++) {
        uint32_t track = c->points[i].track;
        if (!is_odd[track]) {
            c->points[kept++] = c->points[i];
        }
        is_odd[track] = !is_odd[track];
    }
    free(is_odd);
    c->point_count = kept;
    c->stride *= 2;
}

static void add(struct hs_load *load, uint32_t pid, uint32_t kind, uint64_t time_ns, int64_t value)
{
    struct hs_load_counters *c = get(load);
    bool is_new;
    if (!c || load->err != 0 || c->is_full) {
        return;
    }
    struct track *track = hs_load_at(load, &c->track_ids, &c->tracks, sizeof(*track),
                                     (struct hs_intern_key){ .hi = pid, .lo = kind }, &is_new);
    if (!track) {
        return;
    }
    track->pid = pid;
    track->kind = kind;
    if (track->skip > 0) {
        track->skip--;
        return;
    }
    track->skip = c->stride - 1;
    uint32_t idx = (uint32_t)(track - c->tracks);
    if (c->point_count == POINTS_MAX) {
        thin(load, c);
        c->is_full = c->point_count > POINTS_MAX / 4 * 3;
        if (c->is_full) {
            return;
        }
    }
    int r =
        hs_array_reserve(&c->points, &c->point_capacity, c->point_count + 1, sizeof(c->points[0]));
    if (r < 0) {
        load->err = r;
        return;
    }
    HS_ASSERT(c->point_count < POINTS_MAX);
    c->points[c->point_count++] = (struct point){
        .track = idx, .pid = pid, .kind = kind, .time_ns = time_ns, .value = value
    };
}

/* --- packets --- */

static int64_t of_kb(uint64_t kb)
{
    return hs_saturate_signed(hs_saturate_multiply_unsigned(kb, 1024));
}

static void on_process(struct hs_load *load, const Hs__Pb__ProcessStats__Process *from,
                       uint64_t time_ns)
{
    uint32_t pid = (uint32_t)from->pid;
    const struct {
        bool has;
        enum hs_counter counter;
        int64_t value;
    } values[] = {
#define KB(field, counter) { from->has_##field, counter, of_kb(from->field) }
        KB(vm_size_kb, HS_COUNTER_VM_SIZE),
        KB(vm_rss_kb, HS_COUNTER_RSS),
        KB(rss_anon_kb, HS_COUNTER_RSS_ANON),
        KB(rss_file_kb, HS_COUNTER_RSS_FILE),
        KB(rss_shmem_kb, HS_COUNTER_RSS_SHMEM),
        KB(vm_swap_kb, HS_COUNTER_SWAP),
        KB(vm_locked_kb, HS_COUNTER_LOCKED),
        KB(vm_hwm_kb, HS_COUNTER_RSS_PEAK),
        KB(smr_rss_kb, HS_COUNTER_SMAPS_RSS),
        KB(smr_pss_kb, HS_COUNTER_PSS),
        KB(smr_pss_anon_kb, HS_COUNTER_PSS_ANON),
        KB(smr_pss_file_kb, HS_COUNTER_PSS_FILE),
        KB(smr_pss_shmem_kb, HS_COUNTER_PSS_SHMEM),
        KB(smr_swap_pss_kb, HS_COUNTER_SWAP_PSS),
#undef KB
#define PLAIN(field, counter) { from->has_##field, counter, hs_saturate_signed(from->field) }
        PLAIN(runtime_user_mode, HS_COUNTER_RUNTIME_USER),
        PLAIN(runtime_kernel_mode, HS_COUNTER_RUNTIME_KERNEL),
        PLAIN(heapscope_minor_fault_count, HS_COUNTER_MINOR_FAULTS),
        PLAIN(heapscope_major_fault_count, HS_COUNTER_MAJOR_FAULTS),
        PLAIN(heapscope_thread_count, HS_COUNTER_THREADS),
#undef PLAIN
        { from->has_oom_score_adj, HS_COUNTER_OOM_SCORE_ADJ, from->oom_score_adj },
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (values[i].has) {
            add(load, pid, values[i].counter, time_ns, values[i].value);
        }
    }
}

static void on_ours(struct hs_load *load, const Hs__Pb__HsProcessCounters *from, uint64_t time_ns)
{
    if (from->has_minor_fault_count) {
        add(load, from->pid, HS_COUNTER_MINOR_FAULTS, time_ns,
            hs_saturate_signed(from->minor_fault_count));
    }
    if (from->has_major_fault_count) {
        add(load, from->pid, HS_COUNTER_MAJOR_FAULTS, time_ns,
            hs_saturate_signed(from->major_fault_count));
    }
    if (from->has_thread_count) {
        add(load, from->pid, HS_COUNTER_THREADS, time_ns, from->thread_count);
    }
    if (from->has_live_bytes) {
        add(load, from->pid, HS_COUNTER_LIVE, time_ns, hs_saturate_signed(from->live_bytes));
    }
}

static void on_system(struct hs_load *load, const Hs__Pb__SysStats *stats, uint64_t time_ns)
{
    for (size_t i = 0; i < stats->n_meminfo; i++) {
        uint32_t key = (uint32_t)stats->meminfo[i]->key;
        if (key > 0 && key < HS_MEMINFO_N) {
            add(load, 0, KIND_MEMINFO + key, time_ns, of_kb(stats->meminfo[i]->value));
        }
    }
    for (size_t i = 0; i < stats->n_psi; i++) {
        uint32_t key = (uint32_t)stats->psi[i]->resource;
        if (key > 0 && key < HS_PRESSURE_N) {
            add(load, 0, KIND_PRESSURE + key, time_ns, hs_saturate_signed(stats->psi[i]->total_ns));
        }
    }
}

static void on_unread(struct hs_load *load, const Hs__Pb__HsUnread *unread)
{
    struct hs_load_counters *c = get(load);
    if (!c || c->unread_count == UNREAD_MAX) {
        return;
    }
    int r = hs_array_reserve(&c->unread, &c->unread_capacity, c->unread_count + 1,
                             sizeof(c->unread[0]));
    if (r < 0) {
        load->err = r;
        return;
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "counters left out: %s of %s could not be read: %s",
                  unread->file ? unread->file : "?", unread->pid ? "the process" : "the machine",
                  unread->why ? unread->why : "?");
    c->unread[c->unread_count].pid = unread->pid;
    c->unread[c->unread_count++].text = hs_builder_string(load->builder, hs_buf_text(&text));
    hs_buf_deinit(&text);
}

void hs_load_counters(struct hs_load *load, const Hs__Pb__TracePacket *packet)
{
    if (packet->has_timestamp) {
        bool is_mono = packet->timestamp_clock_id == CLOCK_MONOTONIC_ID;
        uint64_t shift_ns = is_mono ? 0 : load->boot_minus_mono_ns;
        load->last_time_ns = packet->timestamp > shift_ns ? packet->timestamp - shift_ns : 0;
    }
    for (size_t i = 0; packet->process_stats && i < packet->process_stats->n_processes; i++) {
        on_process(load, packet->process_stats->processes[i], load->last_time_ns);
    }
    if (packet->heapscope_counters) {
        on_ours(load, packet->heapscope_counters, load->last_time_ns);
    }
    if (packet->sys_stats) {
        on_system(load, packet->sys_stats, load->last_time_ns);
    }
    if (packet->heapscope && packet->heapscope->unread) {
        on_unread(load, packet->heapscope->unread);
    }
}

/* --- the end --- */

struct image {
    uint32_t pid, process;
    uint64_t start_ns;
};

static int compare_images(const void *left, const void *right)
{
    const struct image *a = left, *b = right;
    if (a->pid != b->pid) {
        return a->pid < b->pid ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static struct image *list_images(const struct hs_load *load, uint32_t *ret_count)
{
    uint32_t count = 0;
    while (hs_builder_process_at(load->builder, count)) {
        count++;
    }
    struct image *images = calloc((size_t)count + 1, sizeof(images[0]));
    for (uint32_t i = 0; images && i < count; i++) {
        const struct hs_profile_process *process = hs_builder_process_at(load->builder, i);
        images[i] =
            (struct image){ .pid = process->pid, .process = i, .start_ns = process->start_ns };
    }
    if (images && count > 0) {
        qsort(images, count, sizeof(images[0]), compare_images);
    }
    *ret_count = count;
    return images;
}

/* The last image of a pid that had begun at this time; for an earlier time, the first image. */
static uint32_t find_image(const struct image *images, uint32_t count, uint32_t pid,
                           uint64_t time_ns)
{
    const struct image key = { .pid = pid, .start_ns = time_ns };
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_images(&images[middle], &key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 0 && images[low - 1].pid == pid) {
        return images[low - 1].process;
    }
    return low < count && images[low].pid == pid ? images[low].process : HS_PROFILE_NO_PROCESS;
}

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->pid != b->pid) {
        return a->pid < b->pid ? -1 : 1;
    }
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static struct hs_profile_track describe(struct hs_load *load, const struct track *track)
{
    const char *name;
    enum hs_counter_unit unit = HS_COUNTER_UNIT_BYTES;
    if (track->kind < KIND_MEMINFO) {
        name = hs_counter_name((enum hs_counter)track->kind);
        unit = hs_counter_unit((enum hs_counter)track->kind);
    } else if (track->kind < KIND_PRESSURE) {
        name = hs_meminfo_name(track->kind - KIND_MEMINFO);
    } else {
        name = hs_pressure_name((enum hs_pressure)(track->kind - KIND_PRESSURE));
        unit = HS_COUNTER_UNIT_NS;
    }
    return (struct hs_profile_track){ .pid = track->pid,
                                      .name = hs_builder_string(load->builder, name),
                                      .unit = (uint8_t)unit };
}

/* Turns the sorted points into tracks. */
static void lay_out(struct hs_load *load, const struct hs_load_counters *c)
{
    struct hs_profile_track *tracks = NULL;
    size_t track_capacity = 0;
    uint32_t track_count = 0;
    struct hs_profile_counter *out = calloc(c->point_count + 1, sizeof(out[0]));
    int r = out ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < c->point_count; i++) {
        const struct point *point = &c->points[i];
        if (i == 0 || point->track != point[-1].track || point->process != point[-1].process) {
            r = hs_array_reserve(&tracks, &track_capacity, (size_t)track_count + 1,
                                 sizeof(tracks[0]));
            if (r < 0) {
                break;
            }
            tracks[track_count] = describe(load, &c->tracks[point->track]);
            tracks[track_count].process = point->process;
            tracks[track_count++].counter_first = (uint32_t)i;
        }
        tracks[track_count - 1].counters_n++;
        out[i] = (struct hs_profile_counter){ .time_ns = point->time_ns, .value = point->value };
    }
    if (r < 0) {
        load->err = r;
        free(tracks);
        free(out);
        return;
    }
    hs_builder_tracks(load->builder, tracks, track_count, out, (uint32_t)c->point_count);
}

void hs_load_counters_finish(struct hs_load *load)
{
    struct hs_load_counters *c = load->counters;
    uint32_t count;
    if (!c || load->err != 0) {
        return;
    }
    struct image *images = list_images(load, &count);
    if (!images) {
        load->err = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < c->point_count; i++) {
        struct point *point = &c->points[i];
        point->process = find_image(images, count, point->pid, point->time_ns);
    }
    for (size_t i = 0; i < c->unread_count; i++) {
        char *text = strdup(hs_builder_text(load->builder, c->unread[i].text));
        hs_builder_loss(load->builder, find_image(images, count, c->unread[i].pid, UINT64_MAX),
                        "counters_unread", text ? text : "", 1, false);
        free(text);
    }
    free(images);
    if (c->point_count > 0) {
        qsort(c->points, c->point_count, sizeof(c->points[0]), compare_points);
        lay_out(load, c);
    }
}

void hs_load_counters_deinit(struct hs_load *load)
{
    if (load->counters) {
        hs_intern_deinit(&load->counters->track_ids.ids);
        free(load->counters->tracks);
        free(load->counters->points);
        free(load->counters->unread);
        free(load->counters);
        load->counters = NULL;
    }
}
