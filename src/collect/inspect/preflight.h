/*
 * Checks a program before it is run: which file would run, and could the client be preloaded into
 * it?
 *
 * A profile that turns out to be empty after an hour's run is the worst answer; the same answer
 * beforehand, as a message, is a good one. Everything is checked the way execvp(3) and the dynamic
 * loader do it: the PATH, scripts and their interpreters, set-user-id bits where the file system
 * and the process let them count.
 *
 * Threads   no state.
 * See       exe_file.h
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum hs_preflight_verdict {
    HS_PREFLIGHT_GO,
    HS_PREFLIGHT_MISSING,        /* no such file (exit status 127) */
    HS_PREFLIGHT_NOT_EXECUTABLE, /* the file exists, but may not be run (126) */
    HS_PREFLIGHT_NO_INTERPRETER, /* a script whose interpreter is missing or may not be run (126) */
    HS_PREFLIGHT_STATIC,         /* no dynamic loader, so nothing can be preloaded */
    HS_PREFLIGHT_SECURE,         /* gains rights when it is run, so the loader ignores LD_PRELOAD */
    HS_PREFLIGHT_32BIT,
    HS_PREFLIGHT_OTHER_MACHINE, /* for another processor */
    HS_PREFLIGHT_MUSL,          /* another C library than the client's */
    HS_PREFLIGHT_SANITIZER,     /* its runtime library must be loaded before any preloaded one */
};

struct hs_preflight {
    enum hs_preflight_verdict verdict;
    char path[PATH_MAX]; /* the file that would be executed; for a script, the script */
    /* the program that the verdict is about: `path`, or a script's interpreter */
    char elf[PATH_MAX];
    const char *rights;    /* HS_PREFLIGHT_SECURE: how it gains rights: "set-user-id" ... */
    const char *sanitizer; /* HS_PREFLIGHT_SANITIZER: "AddressSanitizer" ... */
    bool is_script;
    bool defines_malloc; /* with HS_PREFLIGHT_GO: the executable has a malloc of its own */
};

/* Checks `program` as the user typed it; it is looked up in PATH when it has no slash. */
void hs_preflight_check(const char *program, struct hs_preflight *ret_preflight);
