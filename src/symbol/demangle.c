/*
 * Demangles through libiberty's callbacks. See demangle.h.
 *
 * When the text outgrows the buffer, the callback leaves the demangler by longjmp. At most a few
 * bytes that libiberty allocated may leak (a punycode identifier of Rust v0).
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct demangle_out {
    char *text;
    size_t bytes;
    size_t capacity_bytes;
    jmp_buf full;
};

static void take(const char *text, size_t bytes, void *ctx)
{
    struct demangle_out *out = ctx;
    if (bytes >= out->capacity_bytes - out->bytes) {
        longjmp(out->full, 1);
    }
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += bytes;
}

bool hs_demangle(const char *name, char *out, size_t out_bytes)
{
    /*
     * All mangled names begin with an underscore: `_Z` for C++ and for Rust's legacy names, which
     * look the same, `_R` for Rust v0, `_GLOBAL_` for functions that run before main.
     */
    if (out_bytes == 0 || name[0] != '_') {
        return false;
    }
    struct demangle_out demangled = { .text = out, .capacity_bytes = out_bytes };
    if (setjmp(demangled.full) != 0) {
        return false;
    }
    const int options = DMGL_PARAMS | DMGL_ANSI;
    /* Rust's legacy names end in a hash: 17h0123456789abcdef. Few names are worth the try. */
    bool may_be_rust = name[1] != 'Z' || strstr(name, "17h");
    if (!may_be_rust || !rust_demangle_callback(name, options, take, &demangled)) {
        demangled.bytes = 0;
        if (!cplus_demangle_v3_callback(name, options, take, &demangled)) {
            return false;
        }
    }
    out[demangled.bytes] = '\0';
    return demangled.bytes > 0;
}
