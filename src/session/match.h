/*
 * Matching: which processes a session selects, by pid, by name, or all.
 *
 * A process's name is the same as for heapprofd: the first argument, cut at its first '@', without
 * the folders ("/usr/sbin/nginx@1" is "nginx"). A pattern that begins with '/' is compared with the
 * whole first argument. Patterns may contain *, ? and [a-z] as in a shell; unlike in a shell, *
 * also matches '/'.
 *
 * Users call a program by the name that they typed, which may be a script's. A process therefore
 * has further names:
 *   - "python3 -u /opt/app/server.py" is python3, and also server.py: the first argument that is no
 *     option, if the program is an interpreter.
 *   - A program that wrote a title over its arguments ("redis-server unixsocket:/run/r.sock") has
 *     the first word of the title as a name, if it agrees with comm, the kernel's name of the
 *     process.
 *   - Forked children take other titles ("redis-rdb-bgsave *:6379"): the first word and the whole
 *     title are names.
 *   - Last, comm is a name: nothing else is left of a program that wrote over its arguments.
 *
 * Threads   pure functions; the texts come from other programs and can contain anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The facts about a process that matching uses. The texts belong to the caller. */
struct hs_match_facts {
    pid_t pid;
    uid_t uid;
    const char *cmdline; /* arguments, each ended or separated by NUL; NULL: unknown */
    size_t cmdline_bytes;
    const char *comm;    /* NUL-terminated; NULL: unknown */
    uint64_t anon_bytes; /* RssAnon + VmSwap */
};

/* Which processes match: those of a pid, of a name, or all. */
struct hs_match {
    const pid_t *pids;
    size_t pid_count;
    const char *const *names; /* names or globs */
    size_t name_count;
    bool is_all;
    uint64_t min_anon_bytes; /* smaller running processes do not match; 0: any size */
};

/* Does `pattern` match all of `text`? */
bool hs_match_glob(const char *pattern, const char *text);

/* Copies argument number `idx`, cut to `text_bytes` - 1; "" if there is none. */
void hs_match_argument(const char *cmdline, size_t cmdline_bytes, size_t idx, char *ret_text,
                       size_t text_bytes);

/* heapprofd's name of a first argument. */
void hs_match_normalize(const char *argument, char *ret_name, size_t name_bytes);

/* The path of the script that an interpreter runs, as in its arguments; "" if there is no
 * script. */
void hs_match_script(const char *cmdline, size_t cmdline_bytes, char *ret_path, size_t path_bytes);

/* Does this name or glob match the process? */
bool hs_match_name(const char *pattern, const struct hs_match_facts *facts);

/* Does a program that starts match? Its size is not compared: a program that starts is small. */
bool hs_match_starting(const struct hs_match *match, const struct hs_match_facts *facts);
/* Does a running process match, its size included? */
bool hs_match_running(const struct hs_match *match, const struct hs_match_facts *facts);

/* Can a process match that does not exist yet? */
bool hs_match_waits(const struct hs_match *match);

/* The name of a process for a line of text, without control characters. It is the first word or the
 * whole of a title, the script if the process was started by the script's name, else the normalized
 * name, else comm, else "?". */
void hs_match_display(const struct hs_match_facts *facts, char *ret_name, size_t name_bytes);
