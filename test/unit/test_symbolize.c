/*
 * symbolize.c and symbol_packets.c: a trace of this program is written without names and with them.
 * Loaded back, and named in memory, both say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "profile/model/symbol_packets.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "trace_bytes.h"

static char own_path[PATH_MAX];
static uint64_t own_bias;
static char map_folder[] = "/tmp/hs-symbolize-XXXXXX";

__attribute__((noinline)) static int function_to_be_named(int x)
{
    return x * 3 + (int)getppid();
}

static int find_bias(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    (void)bytes;
    (void)ctx;
    own_bias = info->dlpi_addr;
    return 1; /* the first object is the program */
}

static void write_map(unsigned pid, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/perf-%u.map", map_folder, pid);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    dl_iterate_phdr(find_bias, NULL);
    ssize_t bytes = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
    if (bytes <= 0 || !mkdtemp(map_folder) || function_to_be_named(1) == 0) {
        return -1;
    }
    write_map(42, "10000 100 jit_of_42\n");
    write_map(43, "20000 100 jit_of_43\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[PATH_MAX];
    for (unsigned pid = 42; pid <= 43; pid++) {
        snprintf(path, sizeof(path), "%s/perf-%u.map", map_folder, pid);
        unlink(path);
    }
    return rmdir(map_folder);
}

/* jit <- function_to_be_named <- code of a missing file <- end of the stack */
static struct hs_snapshot *make_snapshot(uint32_t pid, uint64_t jit_pc)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, 1000, 2000);
    uint32_t own = fixture_module(snap, own_path, 0, own_bias);
    /* As if no build id had been recorded: the file at the path is used. */
    snap->modules[own].build_id_bytes = 0;
    uint32_t missing = fixture_module(snap, "/no/such/library.so", 9, 0x7f0000000000);
    uint32_t jit = fixture_module(snap, "[anon]", 0, 0);
    uint64_t pc = (uint64_t)(uintptr_t)function_to_be_named - own_bias + 1;
    const uint32_t frames[] = {
        fixture_frame(snap, jit, jit_pc, 0),
        fixture_frame(snap, own, pc, 0),
        fixture_frame(snap, missing, 0x2050, 0),
        fixture_frame(snap, 0, HS_FRAME_PC_END + HS_STACK_END_NO_INFO, HS_FRAME_MARKER),
    };
    struct hs_snap_stack *stack = fixture_stack(snap, 0, frames, 4);
    stack->alloc = stack->live = stack->peak = fixture_amount(1000, 10);
    fixture_totals(snap);
    return snap;
}

static const struct hs_symbol_options options = { .perf_map_folder = map_folder };

static const struct hs_skipped_files none;

/* Two processes; with their names when `wanted` is given. */
static struct hs_profile *profile_of_two(struct hs_symbol_wanted *wanted)
{
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    for (uint32_t pid = 42; pid <= 43; pid++) {
        struct hs_snapshot *snap = make_snapshot(pid, pid == 42 ? 0x10010 : 0x20010);
        if (wanted) {
            assert_int_equal(hs_symbol_packets_add_snapshot(wanted, snap, &none, NULL), 0);
        }
        dump_and_free(writer, snap);
    }
    if (wanted) {
        const struct hs_symbol_request *requests;
        struct hs_symbol_table *tables;
        size_t count;
        assert_int_equal(hs_symbol_wanted_requests(wanted, &requests, &count), 0);
        /* The program, the missing library, and JIT code of two processes. */
        assert_int_equal(count, 4);
        assert_int_equal(hs_symbolizer_run(&options, requests, count, &tables), 0);
        assert_int_equal(hs_symbol_packets_write(writer, requests, tables, count), 0);
        hs_symbol_tables_free(tables, count);
    }
    finish_writer(writer);
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(buf.data, buf.bytes, &profile, NULL), 0);
    hs_buf_deinit(&buf);
    return profile;
}

/* The frame at an address of a module whose path ends with this text. */
static const struct hs_profile_frame *find_frame(const struct hs_profile *p, const char *path_end,
                                                 uint64_t rel_pc)
{
    for (uint32_t i = 0; i < p->frame_count; i++) {
        const char *path = hs_profile_string(p, p->modules[p->frames[i].module].path);
        if (strlen(path) >= strlen(path_end) &&
            strcmp(path + strlen(path) - strlen(path_end), path_end) == 0 &&
            (rel_pc == 0 || p->frames[i].rel_pc == rel_pc)) {
            return &p->frames[i];
        }
    }
    fail_msg("no frame of %s", path_end);
    return NULL;
}

static const char *name_of(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    return frame->line_count > 0 ? hs_profile_string(p, p->lines[frame->line_first].function) : "";
}

static void expect_names(const struct hs_profile *p)
{
    const struct hs_profile_frame *own = find_frame(p, own_path, 0);
    assert_string_equal(name_of(p, own), "function_to_be_named");
    const char *file = hs_profile_string(p, p->lines[own->line_first].file);
    assert_non_null(strstr(file, "test_symbolize.c"));
    assert_in_range(p->lines[own->line_first].line, 25, 40);
    assert_string_equal(name_of(p, find_frame(p, "[anon]", 0x10010)), "jit_of_42");
    assert_string_equal(name_of(p, find_frame(p, "[anon]", 0x20010)), "jit_of_43");
    assert_int_equal(find_frame(p, "library.so", 0)->line_count, 0);
}

static void names_through_a_file(void **state)
{
    (void)state;
    struct hs_symbol_wanted wanted = { 0 };
    struct hs_profile *profile = profile_of_two(&wanted);
    expect_names(profile);
    hs_profile_free(profile);
    hs_symbol_wanted_deinit(&wanted);
}

static void names_in_memory(void **state)
{
    (void)state;
    struct hs_profile *profile = profile_of_two(NULL);
    assert_int_equal(find_frame(profile, own_path, 0)->line_count, 0);
    uint32_t frame_count = profile->frame_count;

    struct hs_symbolized symbolized = { 0 };
    assert_int_equal(hs_profile_symbolize(profile, &options, &symbolized), 0);
    expect_names(profile);
    assert_int_equal(profile->frame_count, frame_count);
    assert_int_equal(symbolized.count, 4);
    unsigned missing_count = 0;
    for (size_t i = 0; i < symbolized.count; i++) {
        const struct hs_symbolized_module *module = &symbolized.modules[i];
        if (module->reason != HS_SYMBOL_REASON_NONE) {
            missing_count++;
            assert_string_equal(module->path, "/no/such/library.so");
            assert_int_equal(module->reason, HS_SYMBOL_REASON_FILE_MISSING);
            assert_int_equal(module->pc_count, 1);
            assert_int_equal(module->named_count, 0);
        }
    }
    assert_int_equal(missing_count, 1);
    hs_symbolized_deinit(&symbolized);

    /* Once more: only frames without a name are looked up again. */
    uint32_t line_count = profile->line_count;
    uint32_t string_count = profile->string_count;
    assert_int_equal(hs_profile_symbolize(profile, &options, &symbolized), 0);
    assert_int_equal(symbolized.count, 1);
    assert_int_equal(profile->line_count, line_count);
    assert_int_equal(profile->string_count, string_count);
    hs_symbolized_deinit(&symbolized);
    hs_profile_free(profile);
}

/* A text that the profile already has is not added again. */
static void strings_stay_distinct(void **state)
{
    (void)state;
    struct hs_profile *profile = profile_of_two(NULL);
    profile->strings = realloc(profile->strings, (profile->string_count + 1) * sizeof(char *));
    assert_non_null(profile->strings);
    profile->strings[profile->string_count] = strdup("function_to_be_named");
    uint32_t id = profile->string_count++;
    assert_int_equal(hs_profile_symbolize(profile, &options, NULL), 0);
    const struct hs_profile_frame *own = find_frame(profile, own_path, 0);
    assert_int_equal(profile->lines[own->line_first].function, id);
    for (uint32_t i = 0; i < profile->string_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(profile->strings[i], profile->strings[k]);
        }
    }
    hs_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_through_a_file),
        cmocka_unit_test(names_in_memory),
        cmocka_unit_test(strings_stay_distinct),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
