/*
 * Files of dumps: see profile_files.h.
 */
#include "cli/read/profile_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "trace/refusal.h"
#include "util/buf.h"
#include "view/gzip.h"
#include "view/pprof.h"

/* The clocks of a trace are read one after the other: times of the same moment differ by up to
 * this. */
#define TIME_TOLERANCE_NS UINT64_C(1000000)

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* For a dump at the maximum, Perfetto's tables have the time of the maximum. */
static uint64_t distance_to_end(const struct hs_profile_dump *dump, uint64_t time_ns)
{
    uint64_t end = distance(dump->time_ns, time_ns);
    uint64_t peak = dump->is_at_max && dump->is_final ? distance(dump->peak_time_ns, time_ns) : end;
    return peak < end ? peak : end;
}

/*
 * True: this time means this one dump of its process. A time means the dump of that time. The start
 * of a window is the time of the dump before, so it counts only where no dump is near. Of several
 * dumps the nearest counts, then the first.
 */
static bool is_meant(const struct hs_profile *p, uint32_t dump_idx, uint64_t time_ns)
{
    uint32_t best = UINT32_MAX, best_by_start = UINT32_MAX;
    uint64_t least = TIME_TOLERANCE_NS + 1, least_by_start = TIME_TOLERANCE_NS + 1;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[i];
        if (dump->process != p->dumps[dump_idx].process || !dump->has_samples) {
            continue;
        }
        if (distance_to_end(dump, time_ns) < least) {
            least = distance_to_end(dump, time_ns);
            best = i;
        }
        if (distance(dump->start_ns, time_ns) < least_by_start) {
            least_by_start = distance(dump->start_ns, time_ns);
            best_by_start = i;
        }
    }
    return dump_idx == (best != UINT32_MAX ? best : best_by_start);
}

static bool is_wanted(const struct hs_profile *p, uint32_t dump_idx,
                      const struct hs_profile_files *files)
{
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    bool is_time = files->time_count == 0;
    for (size_t i = 0; i < files->time_count && !is_time; i++) {
        is_time = is_meant(p, dump_idx, files->times_ns[i]);
    }
    return is_time && dump->has_samples &&
           (files->pid == 0 || p->processes[dump->process].pid == files->pid);
}

static int write_dump(const struct hs_profile *profile, const struct hs_pprof_dump *dump,
                      bool is_compressed, struct hs_buf *out)
{
    if (!is_compressed) {
        return hs_pprof_write_dump(profile, dump, out);
    }
    struct hs_gzip *gzip = hs_gzip_new(out);
    if (!gzip) {
        return -ENOMEM;
    }
    struct hs_buf plain;
    hs_buf_init(&plain, hs_gzip_sink, gzip);
    int r = hs_pprof_write_dump(profile, dump, &plain);
    int late = hs_buf_finish(&plain);
    r = r ? r : late;
    hs_buf_deinit(&plain);
    late = hs_gzip_finish(gzip);
    hs_gzip_free(gzip);
    return r ? r : late;
}

struct output {
    const struct hs_profile *profile;
    const struct hs_pprof_dump *dump;
    bool is_compressed;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return write_dump(output->profile, output->dump, output->is_compressed, buf);
}

/* A program may give a heap any name, so it is escaped. */
static void name_file(char *ret_path, size_t path_bytes, const struct hs_profile_files *files,
                      int number, uint32_t pid, const char *heap)
{
    char clean[64];
    snprintf(clean, sizeof(clean), "%s", heap);
    for (char *c = clean; *c; c++) {
        if (*c == '/' || (unsigned char)*c <= ' ' || *c == 127) {
            *c = '_';
        }
    }
    snprintf(ret_path, path_bytes, "%s/heap_dump.%d.%u.%s.pb%s", files->folder, number, pid, clean,
             files->is_compressed ? ".gz" : "");
}

/* Writes the files of one dump: one for each heap that is not empty. */
static int write_heaps(const struct hs_profile *p, uint32_t dump_idx, bool *has_heap,
                       const struct hs_profile_files *files, int *count)
{
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    char path[PATH_MAX];
    memset(has_heap, 0, p->heap_count);
    for (uint32_t i = 0; i < dump->samples_n + dump->aside_n; i++) {
        uint32_t heap = p->samples[dump->sample_first + i].heap;
        if (heap < p->heap_count) {
            has_heap[heap] = true;
        }
    }
    for (uint32_t h = 0; h < p->heap_count; h++) {
        if (has_heap[h]) {
            const struct hs_pprof_dump what = { dump_idx, h, files->is_annotated };
            name_file(path, sizeof(path), files, *count + 1, p->processes[dump->process].pid,
                      hs_profile_string(p, p->heaps[h]));
            struct output output = { p, &what, files->is_compressed };
            int r = hs_output_write(path, fill_output, &output, NULL);
            if (r < 0) {
                hs_output_end(path, r);
                return r;
            }
            ++*count;
        }
    }
    return 0;
}

int hs_profile_files_write(const struct hs_profile *profile, const struct hs_profile_files *files)
{
    int count = 0, r = 0;
    uint32_t bare_count = 0;
    bool *has_heap = calloc(profile->heap_count + 1u, sizeof(*has_heap));
    if (!has_heap) {
        hs_message("cannot write to %s: %s", files->folder, strerror(ENOMEM));
        return -HS_EXIT_STATUS_FAILED;
    }
    for (uint32_t i = 0; i < profile->dump_count && r == 0; i++) {
        bare_count += !profile->dumps[i].has_samples;
        if (is_wanted(profile, i, files)) {
            r = write_heaps(profile, i, has_heap, files, &count);
        }
    }
    free(has_heap);
    if (bare_count > 0) {
        hs_message("%u snapshots have no file: the trace has too many of them to keep all stacks",
                   bare_count);
    }
    return r < 0 ? -HS_EXIT_STATUS_FAILED : count;
}

void hs_profile_files_warn(const struct hs_profile *profile)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        if (profile->processes[i].refusal == HS_REFUSAL_CONCURRENT) {
            hs_message("WARNING: The profile for %u was rejected due to a concurrent profile.",
                       profile->processes[i].pid);
            count++;
        }
    }
    for (uint32_t i = 0; i < profile->loss_count; i++) {
        const struct hs_profile_loss *loss = &profile->losses[i];
        if (loss->count > 0 && loss->is_serious && loss->process < profile->process_count) {
            hs_message("WARNING: The profile for %u lacks data: %s (%llu).",
                       profile->processes[loss->process].pid,
                       hs_profile_string(profile, loss->text), (unsigned long long)loss->count);
            count++;
        }
    }
    if (count > 0) {
        hs_message("%u warning%s; 'heapscope report --health' on the trace says more", count,
                   count == 1 ? "" : "s");
    }
}
