/*
 * What kind of file an executable is, as far as preloading into it is concerned.
 *
 * Reads the head of the file, its program headers and, for an ELF file, the names that it exports
 * and imports: enough to say beforehand that a profile would stay empty, and why.
 *
 * Trust     the file is foreign input: every offset and size is checked against the file, loops are
 *           bounded, nothing is mapped (a file that shrinks would cause a fault).
 * Threads   no state.
 * Fails     -errno of reading. A file that makes no sense is HS_EXE_UNKNOWN, not an error.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hs_exe_kind {
    /* neither ELF nor script: the kernel will refuse it, a shell may read it as a script */
    HS_EXE_UNKNOWN,
    HS_EXE_ELF,
    HS_EXE_SCRIPT, /* #! */
};

#define HS_EXE_INTERPRETER_BYTES 512
#define HS_EXE_ARGUMENT_BYTES    256

struct hs_exe_file {
    enum hs_exe_kind kind;
    /* ELF: the dynamic loader, "" for a static program. Script: the path after #!, without
     * arguments. */
    char interpreter[HS_EXE_INTERPRETER_BYTES];
    char argument[HS_EXE_ARGUMENT_BYTES]; /* of a script: the rest of the #! line */
    bool is_64bit;
    bool is_native; /* ELF for this machine's processor */
    /* a dynamic loader itself: it has no interpreter, but still preloads */
    bool is_loader;
    bool is_pie;         /* position-independent; a static one is then static-pie */
    bool defines_malloc; /* exports a malloc of its own */
    /* a sanitizer's runtime is linked into it, and so is the runtime's malloc */
    bool has_sanitizer_inside;
    /* the sanitizer whose runtime library, with a malloc of its own, it needs; or NULL */
    const char *sanitizer;
};

/* Inspects the open file. 0 or -errno. */
int hs_exe_file_inspect(int fd, struct hs_exe_file *ret_file);
