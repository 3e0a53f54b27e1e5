/*
 * Before take-off: which file would run, and would a preloaded client get into it?
 *
 * A profile that stays empty, found out after an hour's run, is the worst answer; the same answer
 * beforehand, in words, is a good one. Everything is looked at the way execvp(3) and the dynamic
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
    HS_PREFLIGHT_NOT_EXECUTABLE, /* there, but may not be run (126) */
    HS_PREFLIGHT_NO_INTERPRETER, /* a script whose interpreter is missing or may not be run (126) */
    HS_PREFLIGHT_STATIC,         /* no dynamic loader, so nothing can be preloaded */
    HS_PREFLIGHT_SECURE,         /* gains rights when run, so the loader ignores LD_PRELOAD */
    HS_PREFLIGHT_32BIT,
    HS_PREFLIGHT_OTHER_MACHINE, /* for another processor */
    HS_PREFLIGHT_MUSL,          /* another C library than the client's */
    HS_PREFLIGHT_SANITIZER,     /* its runtime library has to come before any preloaded one */
};

struct hs_preflight {
    enum hs_preflight_verdict verdict;
    char path[PATH_MAX];   /* what would be executed; of a script, the script */
    char elf[PATH_MAX];    /* the program the verdict is about: `path`, or a script's interpreter */
    const char *rights;    /* HS_PREFLIGHT_SECURE: how it gains them: "set-user-id" ... */
    const char *sanitizer; /* HS_PREFLIGHT_SANITIZER: "AddressSanitizer" ... */
    bool is_script;
    bool defines_malloc; /* GO, but its own malloc serves the executable */
};

/* `program` as typed; looked up in PATH when it has no slash. */
void hs_preflight_check(const char *program, struct hs_preflight *ret_preflight);
