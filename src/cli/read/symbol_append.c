/*
 * See symbol_append.h.
 */
#include "cli/read/symbol_append.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/end_signals.h"
#include "cli/progress.h"
#include "cli/read/memory_bound.h"
#include "cli/read/missing_symbols.h"
#include "cli/read/name_maps.h"
#include "profile/model/symbol_packets.h"
#include "profile/read/load.h"
#include "trace/trace_input.h"
#include "util/write_all.h"

int hs_symbol_append_find(const char *path, struct hs_trace_input *input,
                          const struct hs_name_sources *sources, struct hs_symbol_append *ret_found)
{
    struct hs_memory_bound bound;
    struct hs_symbol_append found = { 0 };
    struct hs_symbol_options options = hs_symbol_sources_options(sources);
    options.is_cancelled = hs_end_signals_is_without_names;
    hs_progress_expect("heapscope: reading the trace ...\n");
    hs_memory_bound_begin(&bound, path);
    int r = hs_nameless_frames_read(&found.frames, input);
    hs_memory_bound_end(&bound);
    hs_progress_over();
    if (r == 0) {
        hs_progress_expect(HS_PROGRESS_NAMING);
        r = hs_symbolizer_run(&options, found.frames.requests, found.frames.request_count,
                              &found.tables);
        hs_progress_over();
    }
    if (r == 0) {
        found.new_count = hs_nameless_frames_keep_new(&found.frames, found.tables);
    }
    *ret_found = found;
    return r;
}

void hs_symbol_append_deinit(struct hs_symbol_append *found)
{
    hs_symbol_tables_free(found->tables, found->frames.request_count);
    hs_nameless_frames_deinit(&found->frames);
    *found = (struct hs_symbol_append){ 0 };
}

int hs_symbol_append_write(const struct hs_symbol_append *found, hs_buf_sink_fn *sink,
                           void *sink_ctx)
{
    const struct hs_trace_writer_config config = { .sink = sink, .sink_ctx = sink_ctx };
    struct hs_trace_writer *writer = NULL;
    int r = hs_trace_writer_new(&config, &writer);
    if (r == 0) {
        r = hs_symbol_packets_write(writer, found->frames.requests, found->tables,
                                    found->frames.request_count);
        int late = hs_trace_writer_finish(writer);
        r = r ? r : late;
    }
    hs_trace_writer_free(writer);
    return r;
}

static int add_to_buf(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *buf = ctx;
    hs_buf_add(buf, data, bytes);
    return buf->err;
}

int hs_symbol_append_fill(const struct hs_symbol_append *found, struct hs_buf *buf)
{
    return hs_symbol_append_write(found, add_to_buf, buf);
}

static bool has_any_span(const struct hs_symbol_table *table)
{
    for (uint32_t i = 0; i < table->span_count; i++) {
        if (table->spans[i].line_count > 0) {
            return true;
        }
    }
    return false;
}

bool hs_symbol_append_has_packets(const struct hs_symbol_append *found)
{
    for (size_t i = 0; i < found->frames.request_count; i++) {
        if (has_any_span(&found->tables[i])) {
            return true;
        }
    }
    return false;
}

size_t hs_symbol_append_say_missing(const struct hs_symbol_append *found)
{
    size_t count = 0;
    for (size_t i = 0; i < found->frames.request_count; i++) {
        const struct hs_symbol_table *table = &found->tables[i];
        if (hs_nameless_frames_count(&found->frames, i) == 0 || has_any_span(table)) {
            continue;
        }
        hs_missing_symbols_say_result(&found->frames.requests[i], table, "--symbols");
        count++;
    }
    return count;
}

int hs_symbol_append_packets(const char *path, const struct hs_name_sources *sources,
                             hs_buf_sink_fn *sink, void *sink_ctx)
{
    struct hs_trace_input input;
    struct hs_symbol_append found;
    int r = hs_trace_input_open(&input, path);
    if (r < 0) {
        return r;
    }
    r = hs_symbol_append_find(path, &input, sources, &found);
    r = r ? r : hs_symbol_append_write(&found, sink, sink_ctx);
    if (r == 0) {
        hs_symbol_append_say_missing(&found);
    }
    hs_symbol_append_deinit(&found);
    return r;
}

/* --- a copy ----------------------------------------------------------------------------------- */

static int write_to(void *ctx, const void *data, size_t bytes)
{
    return hs_write_all(*(const int *)ctx, data, bytes);
}

/* The names of the maps in the environment. A map that cannot be read is named in a message. */
static int append_original_names(const char *path, int fd)
{
    struct hs_map_list maps = { 0 };
    struct hs_name_maps_written written;
    struct hs_profile *profile = NULL;
    struct hs_buf out;
    int r = hs_profile_load(path, &profile, NULL);
    if (r != 0 || !profile) {
        return r < 0 ? r : 0;
    }
    hs_buf_init(&out, write_to, &fd);
    if (hs_name_maps_of_environment(&maps) == 0) {
        (void)hs_name_maps_write(&maps, profile, false, &out, &written);
    }
    r = hs_buf_finish(&out);
    hs_buf_deinit(&out);
    hs_map_list_deinit(&maps);
    hs_profile_free(profile);
    return r;
}

/* Only traces have packets. The code that opens the copy reports a file that cannot be read
 * at all. Takes over the input. */
static int append_names(struct hs_trace_input *input, int fd, const struct hs_name_sources *sources)
{
    struct hs_symbol_append found = { 0 };
    enum hs_load_kind kind;
    char path[32];
    int r = hs_load_find_kind(input->file, input->file_bytes, &kind);
    if (r < 0 || kind != HS_LOAD_TRACE) {
        hs_trace_input_deinit(input);
        return r;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sources->is_any) {
        r = hs_symbol_append_find(path, input, sources, &found);
        r = r ? r : hs_symbol_append_write(&found, write_to, &fd);
    } else {
        hs_trace_input_deinit(input);
    }
    if (r == 0) {
        hs_symbol_append_say_missing(&found);
        r = hs_name_maps_are_in_environment() ? append_original_names(path, fd) : 0;
    }
    hs_symbol_append_deinit(&found);
    return r < 0 ? r : 0;
}

int hs_symbol_append_copy(const char *path, const struct hs_name_sources *sources)
{
    struct hs_trace_input input;
    int r = hs_trace_input_open(&input, path);
    if (r < 0) {
        return r;
    }
    int fd = memfd_create("heapscope-names", MFD_CLOEXEC);
    r = fd < 0 ? -errno : write_to(&fd, input.file, input.file_bytes);
    if (r < 0) {
        hs_trace_input_deinit(&input);
    } else {
        r = append_names(&input, fd, sources);
    }
    if (r < 0 && fd >= 0) {
        close(fd);
    }
    return r < 0 ? r : fd;
}
