/*
 * See sql_store.h.
 */
#include "sql/store/sql_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "rt/check.h"
#include "util/array.h"

#define CHUNK_BYTES ((size_t)256 << 10)

struct hs_sql_chunk {
    struct hs_sql_chunk *older;
    size_t used_bytes, room_bytes;
    char text[];
};

#define AMOUNT(name)                                                                               \
    " " name "_bytes real " name "_count real " name "_bytes_low real " name                       \
    "_bytes_high real " name "_count_low real " name "_count_high real"

static const struct {
    const char *name, *columns;
} schema[HS_SQL_TABLES_N] = {
    [HS_SQL_MAPPING] = { "__intrinsic_stack_profile_mapping",
                         "id # build_id text exact_offset int start_offset int start int end int "
                         "load_bias int name "
                         "text" },
    [HS_SQL_FRAME] = { "__intrinsic_stack_profile_frame",
                       "id # name text mapping int rel_pc int symbol_set_id int deobfuscated_name "
                       "text type text" },
    [HS_SQL_CALLSITE] = { "__intrinsic_stack_profile_callsite",
                          "id # depth int parent_id int frame_id int" },
    [HS_SQL_SYMBOL] = { "__intrinsic_stack_profile_symbol",
                        "id # symbol_set_id int name text source_file text line_number int inlined "
                        "int" },
    [HS_SQL_ALLOCATION] = { "__intrinsic_heap_profile_allocation",
                            "id # ts int upid int heap_name text callsite_id int count int size "
                            "int" },
    [HS_SQL_HEAP_PROFILE] = { "__intrinsic_heap_profile",
                              "id # ts int ts_end int dur int upid int heap_name text" },
    [HS_SQL_SMAPS] = { "__intrinsic_profiler_smaps",
                       "id # upid int ts int path text path_trimmed text aggregate_count int "
                       "is_deleted int size_kb "
                       "int private_dirty_kb int swap_kb int file_name text start_address int "
                       "module_timestamp int "
                       "module_debugid text module_debug_path text protection_flags int "
                       "private_clean_resident_kb "
                       "int shared_dirty_resident_kb int shared_clean_resident_kb int locked_kb "
                       "int "
                       "proportional_resident_kb int rss_kb int anonymous_kb int pss_dirty_kb int "
                       "swap_pss_kb int" },
    [HS_SQL_STACK_SAMPLE] = { "__intrinsic_profiler_sample",
                              "id # ts int source text task_context_id int execution_context_id "
                              "int callsite_id int unwind_error text session_id int "
                              "counter_set_id int" },
    [HS_SQL_STACK_TASK] = { "heapscope_stack_tasks",
                            "id # upid int utid int pid int tid int async_id int" },
    [HS_SQL_STACK_EXECUTION] = { "heapscope_stack_executions", "id # cpu int mode int" },
    [HS_SQL_STACK_COUNTER] = { "heapscope_stack_counters",
                               "id # counter_set_id int is_primary int name text unit text "
                               "unit_multiplier int weight real" },
    [HS_SQL_PROCESS] = { "__intrinsic_process",
                         "id # upid # pid int name text start_ts int end_ts int parent_upid int "
                         "uid int android_appid "
                         "int android_user_id int cmdline text arg_set_id int machine_id int" },
    [HS_SQL_THREAD] = { "__intrinsic_thread", "id # utid # tid int name text start_ts int end_ts "
                                              "int upid int is_main_thread int is_idle "
                                              "int machine_id int arg_set_id int" },
    [HS_SQL_COUNTER] = { "__intrinsic_counter",
                         "id # ts int track_id int value real arg_set_id int" },
    [HS_SQL_TRACK] = { "__intrinsic_counter_track",
                       "id # name text parent_id int type text dimension_arg_set_id int "
                       "source_arg_set_id int "
                       "machine_id int unit text description text" },
    [HS_SQL_PROCESS_TRACK] = { "__intrinsic_process_counter_track",
                               "id int name text parent_id int type text dimension_arg_set_id int "
                               "source_arg_set_id "
                               "int machine_id int unit text description text upid int" },
    [HS_SQL_CLOCK] = { "__intrinsic_clock_snapshot",
                       "id # ts int clock_id int clock_name text clock_value int snapshot_id int "
                       "machine_id int" },
    [HS_SQL_STATS] = { "__intrinsic_stats", "name text key int idx int severity text source text "
                                            "value int description text machine_id int "
                                            "trace_id int" },
    [HS_SQL_METADATA] = { "__intrinsic_metadata", "id # name text key_type text int_value int "
                                                  "str_value text machine_id int" },
    [HS_SQL_ARGS] = { "__intrinsic_args",
                      "id # arg_set_id int flat_key text key text int_value int "
                      "string_value text real_value real value_type text" },
    [HS_SQL_AGGREGATE_PROFILE] = { "__intrinsic_aggregate_profile",
                                   "id # scope text name text sample_type_type text "
                                   "sample_type_unit text" },
    [HS_SQL_AGGREGATE_SAMPLE] = { "__intrinsic_aggregate_sample",
                                  "id # aggregate_profile_id int callsite_id int value real" },
    [HS_SQL_OWN_DUMPS] = { "heapscope_dumps",
                           "id # process_id int idx int is_final int start_ns int time_ns int "
                           "peak_time_ns int "
                           "interval_bytes int orig_interval_bytes int rss_bytes int "
                           "rss_peak_bytes int "
                           "rss_start_bytes int has_peak int has_scaled_counts int" AMOUNT("live")
                               AMOUNT("alloc") AMOUNT(
                                   "peak") " sample_count int free_count int replay_count int "
                                           "walk_count int "
                                           "region_bytes int has_samples int is_incomplete int "
                                           "dump_name text client_cpu_ns int" },
    [HS_SQL_OWN_NODES] = { "heapscope_nodes", "id # parent_id int depth int name text system_name "
                                              "text source_file text line_number int "
                                              "module text build_id text rel_pc int kind text "
                                              "is_inlined int" },
    [HS_SQL_OWN_SAMPLES] = { "heapscope_samples",
                             "id # dump_id int node_id int heap_name text is_carved int is_counted "
                             "int" AMOUNT("alloc") AMOUNT("live") AMOUNT("peak") },
    [HS_SQL_OWN_HEAPS] = { "heapscope_heaps",
                           "id # dump_id int heap_name text is_carved int is_counted int "
                           "parent_name text "
                           "has_own_samples int is_left_out int interval_bytes int peak_time_ns "
                           "int" AMOUNT("live") AMOUNT("alloc") AMOUNT("peak") },
    [HS_SQL_OWN_THREADS] = { "heapscope_threads",
                             "id # process_id int tid int name text start_ns int" AMOUNT("live") },
    [HS_SQL_OWN_LOSSES] = { "heapscope_losses",
                            "id # process_id int name text description text "
                            "count int is_serious int allocations real bytes real" },
    [HS_SQL_OWN_LOSS_TIMES] = { "heapscope_loss_times",
                                "id # process_id int name text from_ns int to_ns int count int "
                                "is_serious int" },
    [HS_SQL_OWN_COST] = { "heapscope_cost",
                          "id # recording_cpu_ns int names_cpu_ns int collector_cpu_ns int "
                          "collector_peak_rss_bytes int" },
    [HS_SQL_OWN_NAMELESS] = { "heapscope_missing_names",
                              "id # module text build_id text reason text description text "
                              "detail text nameless_count int address_count int" },
    [HS_SQL_OWN_PROCESSES] = { "heapscope_processes",
                               "id # pid int ppid int forked_from_pid int name text exe text "
                               "cmdline text malloc_path "
                               "text start_ns int end_ns int is_from_startup int has_own_malloc "
                               "int exit_kind text "
                               "exit_value int is_oom_killed int refusal int refusal_text text "
                               "refusal_remedy text "
                               "dump_count int last_dump_id int" },
    [HS_SQL_OWN_CHANGES] = { "heapscope_interval_changes",
                             "id # process_id int time_ns int from_bytes int to_bytes int reason "
                             "int limit_value int "
                             "rarity int" },
    [HS_SQL_OWN_LEDGER] = { "heapscope_ledger",
                            "id # dump_id int is_rss_peak int time_ns int kind text name text "
                            "count int size_bytes int rss_bytes int pss_bytes int swap_bytes int "
                            "is_explained int blocks_bytes real blocks_low_bytes real "
                            "blocks_high_bytes real used_bytes int rss_margin_bytes int" },
    [HS_SQL_OWN_MAPPED] = { "heapscope_mapped_stacks",
                            "id # dump_id int is_rss_peak int time_ns int node_id int range_count "
                            "int size_bytes int rss_bytes int swap_bytes int" },
    [HS_SQL_OWN_PINS] = { "heapscope_pinned_pages",
                          "id # dump_id int time_ns int node_id int block_count int block_bytes "
                          "int "
                          "rounding_bytes int sparse_page_bytes int sparse_block_bytes int "
                          "gain_bytes int gain_low_bytes int gain_high_bytes int set_gain_bytes "
                          "int "
                          "set_gain_low_bytes int set_gain_high_bytes int is_exact int" },
    [HS_SQL_OWN_BLOCKS] = { "heapscope_blocks",
                            "id # dump_id int process_id int address int size int bytes real "
                            "count real node_id int heap_name text is_counted int tid int "
                            "thread_name text birth_ns int age_ns int type_name text" },
    [HS_SQL_OWN_PARTS] = { "heapscope_parts",
                           "id # dump_id int view text node_id int heap_name text is_counted int "
                           "tid int thread_name text type_name text scope text age_from_ms int "
                           "is_others int "
                           "bytes real "
                           "count "
                           "real bytes_low real bytes_high real count_low real count_high real" },
    [HS_SQL_OWN_BIRTHS] = { "heapscope_births",
                            "id # dump_id int node_id int heap_name text is_counted int from_ms "
                            "int to_ms int bytes real count real bytes_low real bytes_high real" },
    [HS_SQL_OWN_LIFETIMES] = { "heapscope_lifetimes",
                               "id # dump_id int node_id int heap_name text is_counted int "
                               "kind text from_ms int between_max int bytes real count real "
                               "bytes_low real bytes_high real count_low real count_high real "
                               "byte_ms real object_ms real" },
};

const char *hs_sql_table_name(enum hs_sql_table table)
{
    return schema[table].name;
}

struct hs_sql_store *hs_sql_store_new(void)
{
    struct hs_sql_store *store = calloc(1, sizeof(*store));
    if (!store) {
        return NULL;
    }
    for (int i = 0; i < HS_SQL_TABLES_N; i++) {
        hs_rows_init(&store->tables[i], schema[i].name, schema[i].columns);
    }
    return store;
}

void hs_sql_store_free(struct hs_sql_store *store)
{
    if (!store) {
        return;
    }
    if (store->free_fill_ctx) {
        store->free_fill_ctx(store->fill_ctx);
    }
    for (int i = 0; i < HS_SQL_TABLES_N; i++) {
        hs_rows_deinit(&store->tables[i]);
    }
    hs_intern_deinit(&store->text_ids);
    free(store->texts);
    while (store->chunks) {
        struct hs_sql_chunk *older = store->chunks->older;
        free(store->chunks);
        store->chunks = older;
    }
    free(store);
}

/* A copy that ends with NUL; NULL: out of memory. */
static const char *keep_text(struct hs_sql_store *store, const void *text, size_t bytes)
{
    struct hs_sql_chunk *chunk = store->chunks;
    if (!chunk || chunk->room_bytes - chunk->used_bytes <= bytes) {
        size_t room_bytes = bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes + 1;
        chunk = malloc(sizeof(*chunk) + room_bytes);
        if (!chunk) {
            return NULL;
        }
        *chunk = (struct hs_sql_chunk){ .older = store->chunks, .room_bytes = room_bytes };
        store->chunks = chunk;
    }
    char *copy = chunk->text + chunk->used_bytes;
    if (bytes > 0) {
        memcpy(copy, text, bytes);
    }
    copy[bytes] = '\0';
    chunk->used_bytes += bytes + 1;
    return copy;
}

int64_t hs_sql_store_put(struct hs_sql_store *store, const void *text, size_t bytes)
{
    uint32_t id = 0;
    bool is_new = false;
    if (store->err != 0) {
        return HS_ROWS_NULL;
    }
    int err = hs_array_reserve(&store->texts, &store->text_capacity,
                               (size_t)store->text_ids.count + 1, sizeof(store->texts[0]));
    if (err == 0) {
        err = hs_intern_put(&store->text_ids, hs_intern_hash(text, bytes), &id, &is_new);
    }
    if (err == 0 && is_new) {
        const char *copy = keep_text(store, text, bytes);
        store->texts[id] = (struct hs_sql_kept_text){ copy ? copy : "", copy ? bytes : 0 };
        err = copy ? 0 : -ENOMEM;
    }
    HS_ASSERT(err != 0 || (store->texts[id].bytes == bytes &&
                           (bytes == 0 || memcmp(store->texts[id].text, text, bytes) == 0)));
    store->err = err;
    return err == 0 ? id : HS_ROWS_NULL;
}

int64_t hs_sql_store_str(struct hs_sql_store *store, const char *text)
{
    return text ? hs_sql_store_put(store, text, strlen(text)) : HS_ROWS_NULL;
}

bool hs_sql_store_find_text(const struct hs_sql_store *store, const char *text, size_t bytes,
                            int64_t *ret_id)
{
    uint32_t id;
    bool is_there = hs_intern_find(&store->text_ids, hs_intern_hash(text, bytes), &id);
    if (is_there) {
        *ret_id = id;
    }
    return is_there;
}

const char *hs_sql_store_text(const struct hs_sql_store *store, int64_t id, size_t *ret_bytes)
{
    bool is_there = id >= 0 && (uint64_t)id < store->text_ids.count;
    *ret_bytes = is_there ? store->texts[id].bytes : 0;
    return is_there ? store->texts[id].text : "";
}

enum hs_sql_table hs_sql_store_find(const struct hs_sql_store *store, const char *name)
{
    int i = 0;
    while (i < HS_SQL_TABLES_N && strcmp(store->tables[i].name, name) != 0) {
        i++;
    }
    return (enum hs_sql_table)i;
}

int hs_sql_store_need(struct hs_sql_store *store, enum hs_sql_table table)
{
    bool is_own = table >= HS_SQL_OWN_FIRST;
    if (store->fill && !store->is_filled[is_own]) {
        store->is_filled[is_own] = true;
        int err = store->fill(store, is_own, store->fill_ctx);
        store->err = store->err ? store->err : err;
    }
    return store->err;
}

uint32_t hs_sql_store_add(struct hs_sql_store *store, enum hs_sql_table table, const int64_t *cells,
                          uint32_t cell_count)
{
    uint32_t row = 0;
    if (store->err == 0) {
        /* A row with a different number of cells would be read past its end. */
        store->err = cell_count != store->tables[table].width
                         ? -EINVAL
                         : hs_rows_add(&store->tables[table], cells, &row);
    }
    return row;
}
