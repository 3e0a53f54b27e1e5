/*
 * heapscope: the command line.
 *
 * A table of commands in groups, each with a name, a function and one line; --help prints that
 * table. A new command needs its file cmd_NAME.c, a prototype in cmd.h, a row here, and a man page
 * docs/man/heapscope-NAME.1 (tools/check-commands demands it).
 *
 * See       cmd.h for the rules of commands, docs/ARCHITECTURE.md for the layers below
 */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/suggest.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

struct command_group {
    const char *title;
    const struct command *commands;
    size_t command_count;
};

static const struct command record_commands[] = {
    { "run", hs_cmd_run, "profile a program from its start" },
    { "attach", hs_cmd_attach, "profile processes that are already running" },
    { "detach", hs_cmd_detach, "detach from processes whose 'attach' was killed" },
    { "record", hs_cmd_record, "record like Perfetto's heap_profile script, into pprof files" },
};

static const struct command daemon_commands[] = {
    { "start", hs_cmd_start, "begin to profile processes, by name or pid" },
    { "stop", hs_cmd_stop, "end a session, and wait until its file is complete" },
    { "list", hs_cmd_list, "show what is recorded, by which command, and at what cost" },
    { "snapshot", hs_cmd_snapshot, "write the live heap of a process that is being recorded" },
    { "snapshots", hs_cmd_snapshots, "list or write snapshots that programs took of themselves" },
};

static const struct command read_commands[] = {
    { "report", hs_cmd_report, "show where the memory went" },
    { "diff", hs_cmd_diff, "compare two profiles, and tell changes from sampling error" },
    { "export", hs_cmd_export, "write a profile as pprof, flame graph, SQLite and other formats" },
    { "query", hs_cmd_query, "run SQL queries on a profile" },
    { "deobfuscate", hs_cmd_deobfuscate, "write original names of obfuscated Java code" },
    { "symbolize", hs_cmd_symbolize, "look up the names of a trace, also on another machine" },
    { "bundle", hs_cmd_bundle, "put a trace and its names into one file" },
    { "dupes", hs_cmd_dupes, "find live blocks with equal contents" },
    { "profile", hs_cmd_profile, "write a pprof file for each heap of each snapshot" },
    { "ui", hs_cmd_ui, "show profiles, and what is recorded now, in a browser" },
};

static const struct command live_commands[] = {
    { "top", hs_cmd_top, "show what processes hold now, and how it grows" },
};

static const struct command check_commands[] = {
    { "check", hs_cmd_check, "check profiles against limits, for CI" },
    { "doctor", hs_cmd_doctor, "find out why a profile would be empty, or lack frames or names" },
};

static const struct command_group groups[] = {
    { "Record", record_commands, HS_COUNT_OF(record_commands) },
    { "Record through the daemon heapscoped", daemon_commands, HS_COUNT_OF(daemon_commands) },
    { "Watch", live_commands, HS_COUNT_OF(live_commands) },
    { "Read", read_commands, HS_COUNT_OF(read_commands) },
    { "Check", check_commands, HS_COUNT_OF(check_commands) },
};

static void write_help(FILE *out)
{
    fputs("heapscope: a heap profiler for Linux programs\n\n"
          "Usage: heapscope COMMAND [OPTIONS] [ARGS]\n",
          out);
    for (size_t g = 0; g < HS_COUNT_OF(groups); g++) {
        fprintf(out, "\n%s:\n", groups[g].title);
        for (size_t i = 0; i < groups[g].command_count; i++) {
            fprintf(out, "  %-12s %s\n", groups[g].commands[i].name, groups[g].commands[i].summary);
        }
    }
    fputs("\nOptions:\n"
          "  -h, --help     show this list; 'heapscope COMMAND --help' explains a command\n"
          "  -V, --version  show the version\n"
          "\nStart here:\n"
          "  heapscope run -- PROGRAM ARGS\n",
          out);
}

static int say_unknown(const char *typed)
{
    const char *names[32] = { NULL };
    size_t count = 0;
    for (size_t g = 0; g < HS_COUNT_OF(groups); g++) {
        for (size_t i = 0; i < groups[g].command_count && count < HS_COUNT_OF(names); i++) {
            names[count++] = groups[g].commands[i].name;
        }
    }
    const char *near = hs_suggest_nearest(typed, names, count);
    hs_message("'%s' is not %s%s%s%s\nTry 'heapscope --help'.", typed,
               typed[0] == '-' ? "an option" : "a command", near ? "; did you mean '" : "",
               near ? near : "", near ? "'?" : "");
    return HS_EXIT_STATUS_USAGE;
}

static const struct command *find(const char *name)
{
    for (size_t g = 0; g < HS_COUNT_OF(groups); g++) {
        for (size_t i = 0; i < groups[g].command_count; i++) {
            if (strcmp(name, groups[g].commands[i].name) == 0) {
                return &groups[g].commands[i];
            }
        }
    }
    return NULL;
}

static bool is_one_of(const char *typed, const char *a, const char *b)
{
    return strcmp(typed, a) == 0 || strcmp(typed, b) == 0;
}

int main(int argc, char **argv)
{
    static char help_option[] = "--help";
    if (argc > 0 && strcmp(hs_text_base_name(argv[0]), "heap_profile") == 0) {
        return hs_cmd_record(argc, argv);
    }
    if (argc < 2) {
        write_help(stderr);
        return HS_EXIT_STATUS_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h") || (argc == 2 && strcmp(argv[1], "help") == 0)) {
        write_help(stdout);
        return hs_args_finish_output();
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        puts("heapscope " HS_VERSION);
        return hs_args_finish_output();
    }
    /* `heapscope help run` means `heapscope run --help`. */
    bool is_help = strcmp(argv[1], "help") == 0;
    const struct command *command = find(argv[is_help ? 2 : 1]);
    if (!command) {
        return say_unknown(argv[is_help ? 2 : 1]);
    }
    if (is_help) {
        char *args[] = { argv[2], help_option, NULL };
        return command->run(2, args);
    }
    return command->run(argc - 1, argv + 1);
}
