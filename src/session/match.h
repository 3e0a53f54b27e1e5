/*
 * Which processes a session means: by pid, by name, or all.
 *
 * A process's name is heapprofd's: the first argument, cut at its first '@', without the folders
 * ("/usr/sbin/nginx@1" is "nginx"). A pattern that begins with '/' is held against the first argument as
 * it is. Patterns know *, ? and [a-z] as shells do; unlike there, * goes over '/' too.
 *
 * People call a program by what they typed, though, and that may be a script: "python3 -u
 * /opt/app/server.py" is python3, and also server.py, the first argument that is no option, if the
 * first one is an interpreter's. One that wrote a title over its arguments ("redis-server unixsocket:/run/r.sock") is
 * called by the first word of that, if comm agrees. Forked children take other titles ("redis-rdb-bgsave *:6379"): their
 * first word and the whole are names, too. As a last resort the kernel's name of the process (comm) counts: it is
 * all that is left of one that wrote over its arguments.
 *
 * Threads   pure functions on texts that other programs chose.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What there is to know about a process. Texts belong to whoever filled it in. */
struct hs_match_facts {
    pid_t pid;
    uid_t uid;
    const char *cmdline; /* arguments, each ended or separated by NUL; NULL: unknown */
    size_t cmdline_bytes;
    const char *comm;    /* NUL-terminated; NULL: unknown */
    uint64_t anon_bytes; /* RssAnon + VmSwap */
};

struct hs_match {
    const pid_t *pids;
    size_t pid_count;
    const char *const *names; /* or globs */
    size_t name_count;
    bool is_all;
    uint64_t min_anon_bytes; /* 0: however small */
};

/* Does `pattern` fit all of `text`? */
bool hs_match_glob(const char *pattern, const char *text);

/* Argument `idx`, cut to `text_bytes` - 1; "" when there is none. */
void hs_match_argument(const char *cmdline, size_t cmdline_bytes, size_t idx, char *ret_text,
                       size_t text_bytes);

/* heapprofd's name of a first argument. */
void hs_match_normalize(const char *argument, char *ret_name, size_t name_bytes);

/* The script that an interpreter was started for, as it was given; "" when this is none. */
void hs_match_script(const char *cmdline, size_t cmdline_bytes, char *ret_path, size_t path_bytes);

/* Does this name or glob mean the process? */
bool hs_match_name(const char *pattern, const struct hs_match_facts *facts);

/* Its size is not looked at: a program that starts is small. */
bool hs_match_starting(const struct hs_match *match, const struct hs_match_facts *facts);
bool hs_match_running(const struct hs_match *match, const struct hs_match_facts *facts);

/* Can a process that is not there yet be meant? */
bool hs_match_waits(const struct hs_match *match);

/* What to call a process in a line of text: its script, where it was started by that name, or its normalised name, else comm, else "?". */
void hs_match_display(const struct hs_match_facts *facts, char *ret_name, size_t name_bytes);
