/*
 * The commands: one function each, in a file of its own (cmd_run.c, cmd_report.c, ...), listed in
 * main.c with its name and one line.
 *
 * A command gets its own arguments (argv[0] is its name), reads them with hs_args_parse() of
 * args.h, and returns the exit status: 0 done, 1 failed, 2 wrong usage; `run` returns that of the
 * program. Results go to standard output, messages to standard error through message.h.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_EXIT_STATUS_DONE   0
#define HS_EXIT_STATUS_FAILED 1
#define HS_EXIT_STATUS_USAGE  2

/* The commands, each with its own arguments. Each returns the exit status. */
int hs_cmd_run(int argc, char **argv);
int hs_cmd_record(int argc, char **argv);
int hs_cmd_attach(int argc, char **argv);
int hs_cmd_detach(int argc, char **argv);
int hs_cmd_start(int argc, char **argv);
int hs_cmd_stop(int argc, char **argv);
int hs_cmd_list(int argc, char **argv);
int hs_cmd_snapshot(int argc, char **argv);
int hs_cmd_snapshots(int argc, char **argv);
int hs_cmd_top(int argc, char **argv);
int hs_cmd_bundle(int argc, char **argv);
int hs_cmd_check(int argc, char **argv);
int hs_cmd_diff(int argc, char **argv);
int hs_cmd_dupes(int argc, char **argv);
int hs_cmd_report(int argc, char **argv);
int hs_cmd_profile(int argc, char **argv);
int hs_cmd_export(int argc, char **argv);
int hs_cmd_deobfuscate(int argc, char **argv);
int hs_cmd_symbolize(int argc, char **argv);
int hs_cmd_query(int argc, char **argv);
int hs_cmd_doctor(int argc, char **argv);
int hs_cmd_ui(int argc, char **argv);

struct hs_heap_selection;
struct hs_skipped_files;
struct hs_sources_settings;

/* Which processes `attach` records, as far as its options cannot express it. */
struct hs_attach_scope {
    bool is_all; /* all processes; the name is "*" then */
    bool is_taking_running;
    bool is_taking_startup;  /* also processes that start later, once they are noticed */
    uint64_t min_anon_bytes; /* of the processes that run, only those with this much memory */
};

/* What `record` adds to run and attach, besides their options. */
struct hs_run_head {
    const void *data; /* packets to write in front of the recording */
    size_t bytes;
    const struct hs_sources_settings *sources; /* NULL: their own defaults */
    const struct hs_heap_selection *heaps;     /* in place of the options; settled */
    const struct hs_skipped_files *skipped;    /* NULL: none */
    const struct hs_attach_scope *scope;       /* NULL: running processes, as named */
    bool is_max_in_samples;                    /* struct hs_dump_schedule */
    bool has_forks;                            /* run: struct hs_run_meant */
    void (*on_active)(void); /* attach: called when recording begins; may be NULL */
};

/* run and attach for `record`: with `head`, which may be NULL. */
int hs_cmd_run_headed(int argc, char **argv, const struct hs_run_head *head);
int hs_cmd_attach_headed(int argc, char **argv, const struct hs_run_head *head);
