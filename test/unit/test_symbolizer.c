/*
 * symbolizer.c: several modules at once through worker processes, and workers that fail.
 *
 * The module that is read is this test program itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/symbol_wanted.h"
#include "symbol/symbol_worker.h"
#include "symbol/symbolizer.h"

static char own_path[PATH_MAX];
static uint64_t own_bias;

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

static int set_up(void **state)
{
    (void)state;
    dl_iterate_phdr(find_bias, NULL);
    ssize_t bytes = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
    return bytes > 0 && function_to_be_named(1) != 0 ? 0 : -1;
}

static uint64_t address_of_function(void)
{
    return (uint64_t)(uintptr_t)function_to_be_named - own_bias + 1;
}

static const char *first_name(const struct hs_symbol_table *table, uint32_t span)
{
    if (table->spans[span].line_count == 0) {
        return "";
    }
    return hs_symbol_string(table, table->lines[table->spans[span].line_first].function_off);
}

static void names_of_several_modules(void **state)
{
    (void)state;
    const uint64_t pcs[] = { 1, address_of_function(), 2, address_of_function() };
    struct hs_symbol_request requests[20];
    for (size_t i = 0; i < 20; i++) {
        requests[i] = (struct hs_symbol_request){ .path = i % 3 == 0 ? "/no/such/file" : own_path,
                                                  .rel_pcs = pcs,
                                                  .rel_pc_count = 4 };
    }
    requests[1].rel_pc_count = 0;
    struct hs_symbol_table *tables;
    for (unsigned workers = 0; workers < 4; workers++) {
        const struct hs_symbol_options options = { .worker_count = workers };
        assert_int_equal(hs_symbolizer_run(&options, requests, 20, &tables), 0);
        for (size_t i = 2; i < 20; i++) {
            assert_true(hs_symbol_table_is_valid(&tables[i]));
            assert_int_equal(tables[i].span_count, 4);
            if (i % 3 == 0) {
                assert_int_equal(tables[i].reason, HS_SYMBOL_REASON_FILE_MISSING);
                assert_string_equal(hs_symbol_string(&tables[i], tables[i].detail_off),
                                    "/no/such/file");
            } else {
                assert_int_equal(tables[i].reason, HS_SYMBOL_REASON_NONE);
                assert_string_equal(first_name(&tables[i], 1), "function_to_be_named");
                assert_string_equal(first_name(&tables[i], 3), "function_to_be_named");
                assert_string_equal(first_name(&tables[i], 0), "");
            }
        }
        assert_int_equal(tables[1].span_count, 0);
        hs_symbol_tables_free(tables, 20);
    }
    /* No worker process is left. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void nothing_to_do(void **state)
{
    (void)state;
    struct hs_symbol_table *tables;
    assert_int_equal(hs_symbolizer_run(NULL, NULL, 0, &tables), 0);
    hs_symbol_tables_free(tables, 0);
    hs_symbol_tables_free(NULL, 0);
}

/* Makes a folder with a perf map of process 77 of half a gigabyte, which takes a while to read. */
static void make_slow_map(char *ret_folder)
{
    char path[PATH_MAX];
    strcpy(ret_folder, "/tmp/hs-symbolizer-XXXXXX");
    assert_non_null(mkdtemp(ret_folder));
    snprintf(path, sizeof(path), "%s/perf-77.map", ret_folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 500 << 20), 0);
    close(fd);
}

static void remove_slow_map(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/perf-77.map", folder);
    unlink(path);
    rmdir(folder);
}

/* The slow one is abandoned, and a new worker does the others. */
static void a_module_that_takes_too_long(void **state)
{
    (void)state;
    char folder[64];
    make_slow_map(folder);
    const uint64_t pcs[] = { address_of_function() };
    /* The module with most addresses is done first. */
    const uint64_t many[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct hs_symbol_request requests[] = {
        { .path = own_path, .rel_pcs = pcs, .rel_pc_count = 1 },
        { .path = HS_SYMBOL_PATH_ANON, .pid = 77, .rel_pcs = many, .rel_pc_count = 8 },
        { .path = own_path, .rel_pcs = pcs, .rel_pc_count = 1 },
    };
    struct hs_symbol_options options = { .worker_count = 1,
                                         .perf_map_folder = folder,
                                         .module_timeout_ms = 20 };
    struct hs_symbol_table *tables;
    assert_int_equal(hs_symbolizer_run(&options, requests, 3, &tables), 0);
    assert_int_equal(tables[1].reason, HS_SYMBOL_REASON_TOO_SLOW);
    assert_string_equal(first_name(&tables[0], 0), "function_to_be_named");
    assert_string_equal(first_name(&tables[2], 0), "function_to_be_named");
    hs_symbol_tables_free(tables, 3);

    /* When the total time is used up, the rest is not started. */
    options.module_timeout_ms = 0;
    options.total_timeout_ms = 1;
    assert_int_equal(hs_symbolizer_run(&options, &requests[1], 2, &tables), 0);
    assert_int_equal(tables[0].reason, HS_SYMBOL_REASON_TOO_SLOW);
    hs_symbol_tables_free(tables, 2);
    remove_slow_map(folder);
}

/* Workers that cannot allocate answer nothing; every request still gets its table. */
static void workers_without_memory(void **state)
{
    (void)state;
    if (!HS_SYMBOL_WORKER_HAS_LIMIT) {
        skip();
    }
    const uint64_t pcs[] = { address_of_function() };
    uint64_t *many = calloc(1 << 22, sizeof(*many));
    assert_non_null(many);
    struct hs_symbol_request requests[] = {
        { .path = own_path, .rel_pcs = many, .rel_pc_count = 1 << 22 },
        { .path = "/no/such/file", .rel_pcs = pcs, .rel_pc_count = 1 },
    };
    const struct hs_symbol_options options = { .worker_count = 2, .worker_memory_bytes = 1 };
    struct hs_symbol_table *tables;
    assert_int_equal(hs_symbolizer_run(&options, requests, 2, &tables), 0);
    assert_int_equal(tables[0].reason, HS_SYMBOL_REASON_BROKEN);
    assert_int_equal(tables[0].span_count, 1 << 22);
    assert_true(tables[1].reason != HS_SYMBOL_REASON_NONE);
    hs_symbol_tables_free(tables, 2);
    free(many);
}

static unsigned hurry_asked_count;

static bool is_cancelled(void)
{
    return ++hurry_asked_count > 1;
}

/*
 * A signal to the process group does not affect the workers; the search ends only if the caller is
 * in a hurry.
 */
static void an_interrupt(void **state)
{
    (void)state;
    char folder[64];
    make_slow_map(folder);
    const uint64_t many[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct hs_symbol_request requests[4];
    for (size_t i = 0; i < 4; i++) {
        requests[i] = (struct hs_symbol_request){
            .path = HS_SYMBOL_PATH_ANON, .pid = 77, .rel_pcs = many, .rel_pc_count = 8
        };
    }
    struct hs_symbol_options options = { .worker_count = 1, .perf_map_folder = folder };
    /* In a process group of its own, so that no other process gets the signal. */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0) {
            usleep(30000);
            kill(0, SIGINT);
            kill(0, SIGTERM);
            _exit(0);
        }
        struct hs_symbol_table *tables;
        int err = hs_symbolizer_run(&options, requests, 4, &tables);
        bool is_whole = err == 0;
        for (size_t i = 0; i < 4 && is_whole; i++) {
            is_whole = tables[i].reason != HS_SYMBOL_REASON_INTERRUPTED &&
                       tables[i].reason != HS_SYMBOL_REASON_BROKEN;
        }
        options.is_cancelled = is_cancelled;
        err = hs_symbolizer_run(&options, requests, 4, &tables);
        bool is_cut = err == 0 && tables[3].reason == HS_SYMBOL_REASON_INTERRUPTED;
        _exit(is_whole && is_cut ? 42 : is_whole ? 2 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    remove_slow_map(folder);
}

static void wanted_things_are_asked_for_once(void **state)
{
    (void)state;
    struct hs_symbol_wanted wanted = { 0 };
    const uint8_t id[] = { 1, 2, 3 }, other_id[] = { 1, 2, 4 };
    uint32_t a, b, again, jit1, jit2;
    assert_int_equal(hs_symbol_wanted_module(&wanted, "/a", id, 3, 10, &a), 0);
    assert_int_equal(hs_symbol_wanted_module(&wanted, "/a", other_id, 3, 10, &b), 0);
    assert_int_equal(hs_symbol_wanted_module(&wanted, "/a", id, 3, 11, &again), 0);
    assert_int_equal(hs_symbol_wanted_module(&wanted, "[anon]", NULL, 0, 10, &jit1), 0);
    assert_int_equal(hs_symbol_wanted_module(&wanted, "[anon]", NULL, 0, 11, &jit2), 0);
    assert_int_equal(a, again);
    assert_int_not_equal(a, b);
    assert_int_not_equal(jit1, jit2);
    for (int round = 0; round < 2; round++) {
        for (uint64_t pc = 0; pc < 1000; pc++) {
            assert_int_equal(hs_symbol_wanted_pc(&wanted, pc % 2 ? a : b, pc), 0);
        }
    }
    assert_int_equal(hs_symbol_wanted_pc(&wanted, jit2, 5), 0);
    const struct hs_symbol_request *requests;
    size_t count;
    assert_int_equal(hs_symbol_wanted_requests(&wanted, &requests, &count), 0);
    assert_int_equal(count, 4);
    assert_int_equal(requests[a].rel_pc_count, 500);
    assert_int_equal(requests[jit1].rel_pc_count, 0);
    assert_int_equal(requests[jit2].pid, 11);
    uint32_t module, slot;
    for (uint64_t pc = 0; pc < 1000; pc++) {
        const uint8_t *pc_id = pc % 2 ? id : other_id;
        assert_true(hs_symbol_wanted_find(&wanted, "/a", pc_id, 3, 99, pc, &module, &slot));
        assert_int_equal(requests[module].rel_pcs[slot], pc);
    }
    assert_false(hs_symbol_wanted_find(&wanted, "/a", id, 3, 10, 4, &module, &slot));
    assert_false(hs_symbol_wanted_find(&wanted, "/b", id, 3, 10, 1, &module, &slot));
    hs_symbol_wanted_deinit(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_several_modules),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(a_module_that_takes_too_long),
        cmocka_unit_test(workers_without_memory),
        cmocka_unit_test(an_interrupt),
        cmocka_unit_test(wanted_things_are_asked_for_once),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
