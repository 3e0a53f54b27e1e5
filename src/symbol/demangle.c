/*
 * Demangles through libiberty's callbacks. See demangle.h.
 *
 * When the text outgrows the buffer, the callback leaves the demangler by longjmp. At most a few
 * bytes that libiberty allocated may leak (a punycode identifier of Rust v0).
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cxx_function.h"

#define D_NAME_BYTES_MAX      2048U
#define D_BACK_REFERENCES_MAX 16U

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

/*
 * D's demangler returns memory, and has no limit: a name that refers back to its own parts again
 * and again ("Q") can stand for gigabytes.
 */
static bool demangle_d(const char *name, char *out, size_t out_bytes)
{
    size_t back_count = 0, bytes = strlen(name);
    for (const char *at = name; *at != '\0'; at++) {
        back_count += *at == 'Q';
    }
    if (bytes > D_NAME_BYTES_MAX || back_count > D_BACK_REFERENCES_MAX) {
        return false;
    }
    char *text = dlang_demangle(name, DMGL_PARAMS);
    bool is_good = text && strlen(text) < out_bytes;
    if (is_good) {
        memcpy(out, text, strlen(text) + 1);
    }
    free(text);
    return is_good;
}

bool hs_demangle(const char *name, char *out, size_t out_bytes)
{
    /*
     * All mangled names begin with an underscore: `_Z` for C++ and for Rust's legacy names, which
     * look the same, `_R` for Rust v0, `_D` for D, `_GLOBAL_` for functions that run before main.
     */
    if (out_bytes == 0 || name[0] != '_') {
        return false;
    }
    if (name[1] == 'D') {
        return demangle_d(name, out, out_bytes);
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
        if (hs_cxx_function_demangle(name, out, out_bytes)) {
            return true;
        }
        if (!cplus_demangle_v3_callback(name, options, take, &demangled)) {
            return false;
        }
    }
    out[demangled.bytes] = '\0';
    return demangled.bytes > 0;
}
