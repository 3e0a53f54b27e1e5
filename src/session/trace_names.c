/*
 * Looks up names and appends them to a trace: see trace_names.h.
 */
#include "session/trace_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deobfuscate/map_list.h"
#include "deobfuscate/mapping_packet.h"
#include "profile/model/symbol_packets.h"
#include "symbol/symbolizer.h"
#include "util/buf.h"

static void say(const struct hs_trace_naming *naming, struct hs_buf *words)
{
    if (naming->say) {
        naming->say(hs_buf_text(words));
    }
    hs_buf_deinit(words);
}

/* --- obfuscated Java --- */

bool hs_trace_names_wants_java(void)
{
    const char *value = getenv("PERFETTO_PROGUARD_MAP");
    return value && value[0] != '\0';
}

int hs_trace_names_add_java(struct hs_java_wanted *wanted, const struct hs_snapshot *snap,
                            const struct hs_jit_names *jit)
{
    int err = 0;
    for (uint32_t i = 0; i < snap->frame_count && err == 0; i++) {
        const struct hs_snap_frame *frame = &snap->frames[i];
        const char *name = NULL;
        if ((frame->flags & HS_FRAME_NAMED) != 0) {
            name = frame->pc < snap->code_name_count ? snap->code_names[frame->pc].function : NULL;
        } else if (frame->module_id < snap->module_count &&
                   snap->modules[frame->module_id].kind == HS_MODULE_ANON) {
            const struct hs_jit_name *found = hs_jit_names_find(jit, snap, frame->rel_pc);
            name = found ? found->function : NULL;
        }
        err = name ? hs_java_wanted_add(wanted, name) : 0;
    }
    return err;
}

/* Adds the names that a perf map had at the end. */
static int add_late_java(struct hs_java_wanted *wanted, const struct hs_symbol_request *request,
                         const struct hs_symbol_table *table)
{
    int err = 0;
    bool is_jit = strcmp(request->path, HS_SYMBOL_PATH_ANON) == 0;
    for (uint32_t i = 0; is_jit && i < table->line_count && err == 0; i++) {
        err = hs_java_wanted_add(wanted, hs_symbol_string(table, table->lines[i].function_off));
    }
    return err;
}

/* Appends the names of one map. A map that cannot be read costs its names only. */
static int append_map(struct hs_trace_writer *writer, const struct hs_map_file *file,
                      const struct hs_trace_naming *naming)
{
    struct hs_buf out = HS_BUF_INIT, words = HS_BUF_INIT;
    struct hs_mapping_writer mapping = { .out = &out, .package = file->package };
    const struct hs_proguard_sink sink = hs_mapping_writer_sink(&mapping);
    struct hs_proguard_error error = { 0 };
    int err = hs_map_file_read(file, naming->java, &sink, &error);
    int late_err = hs_mapping_writer_finish(&mapping);
    int r = late_err;
    if (err != 0) {
        hs_map_file_write_error(file, err, &error, &words);
        say(naming, &words);
    } else if (r == 0 && out.bytes > 0) {
        r = hs_trace_writer_packets(writer, hs_buf_text(&out), out.bytes);
    }
    hs_buf_deinit(&out);
    return r;
}

static int append_java(struct hs_trace_writer *writer, const struct hs_trace_naming *naming)
{
    struct hs_map_list maps = { 0 };
    struct hs_buf words = HS_BUF_INIT;
    int r = 0;
    if (!naming->java || naming->java->methods.count == 0) {
        return 0;
    }
    int err = hs_map_list_add_environment(&maps);
    if (err != 0) {
        hs_map_list_write_error(err, &words);
        say(naming, &words);
    }
    for (size_t i = 0; i < maps.count && err == 0 && r == 0; i++) {
        r = append_map(writer, &maps.files[i], naming);
    }
    hs_map_list_deinit(&maps);
    return r;
}

/* --- code addresses --- */

/* Remembers that the search was ended, and says that servers were missing. */
static void look_at_reasons(struct hs_trace_naming *naming, const struct hs_symbol_table *tables,
                            size_t count)
{
    struct hs_buf words = HS_BUF_INIT;
    bool is_server_missing = false;
    for (size_t i = 0; i < count; i++) {
        naming->is_interrupted |= tables[i].reason == HS_SYMBOL_REASON_INTERRUPTED;
        is_server_missing |= tables[i].reason == HS_SYMBOL_REASON_NO_SERVER;
    }
    if (is_server_missing) {
        hs_buf_str(&words, "DEBUGINFOD_URLS: no server answered in time: names that no file here "
                           "has are missing; report, export and symbolize ask the servers again");
        say(naming, &words);
    }
}

static int append_symbols(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          struct hs_trace_naming *naming)
{
    struct hs_name_sources sources;
    const struct hs_symbol_request *requests;
    struct hs_symbol_table *tables = NULL;
    size_t count;
    int r = hs_symbol_wanted_requests(wanted, &requests, &count);
    if (r < 0 || count == 0) {
        return r;
    }
    r = hs_name_sources_read(NULL, naming->say, &sources);
    if (r < 0) {
        return r;
    }
    sources.is_end_of_recording = true;
    struct hs_symbol_options options = hs_name_sources_options(&sources);
    options.target_files = naming->files;
    options.is_cancelled = naming->is_cancelled;
    options.on_progress = naming->on_progress;
    r = hs_symbolizer_run(&options, requests, count, &tables);
    if (r == 0) {
        look_at_reasons(naming, tables, count);
        r = hs_symbol_packets_write(writer, requests, tables, count);
        r = r < 0 ? r : hs_symbol_packets_write_nameless(writer, requests, tables, count);
        for (size_t i = 0; i < count && r == 0 && naming->java; i++) {
            r = add_late_java(naming->java, &requests[i], &tables[i]);
        }
        hs_symbol_tables_free(tables, count);
    }
    hs_name_sources_deinit(&sources);
    return r;
}

/* --- both --- */

int hs_trace_names_append(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          struct hs_trace_naming *naming)
{
    int r = append_symbols(writer, wanted, naming);
    return r < 0 ? r : append_java(writer, naming);
}
