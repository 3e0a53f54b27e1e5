/*
 * Writes the name by which functions are compared, without what a compiler or another build adds to
 * it.
 *
 *   parse.isra.0.cold, parse(char*) [clone .part.0] parse, parse(char*)  copies by optimisers
 *   load.llvm.7243, load.lto_priv.0, load.42        load                 statics renamed by linkers
 *   f()::{lambda(int)#2}, f()::$_1                  f()::{lambda}        closures of gcc and clang
 *   a::b::h0123456789abcdef, a[1f2e3d4c5b6a798]::b  a::b                 Rust's hashes, old and v0
 *   g[abi:cxx11](), set<pair<int, int> >            g(), set<pair<int, int>>
 *   f() [DEDUPED]                                   f()                  folded code
 *
 * Closures of one function with the same parameters become one: their numbers change with every
 * closure that is written before them, and two compilers count differently.
 *
 * Threads   pure functions.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "profile/analyse/diff_internal.h"
#include "rt/base.h"
#include "util/buf.h"

#define RUST_HASH_DIGITS 16
/* Behind the name of code that other functions share (symbol/folded_names.h): another build, or a
 * recording by an older version, may not have it. */
#define FOLDED_MARK " [DEDUPED]"
/* a crate's number has up to 16 digits, and hardly ever fewer than these */
#define RUST_CRATE_MIN 8
#define RUST_CRATE_MAX 16

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t count_hex(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* True when ".isra.0" or a similar suffix of a copy begins here. */
static bool is_copy_mark(const char *dot)
{
    static const char *const words[] = { "constprop", "isra",       "part", "cold",
                                         "lto_priv",  "localalias", "llvm", "__uniq" };
    size_t bytes = strcspn(dot + 1, ".");
    for (size_t i = 0; i < HS_COUNT_OF(words); i++) {
        if (bytes == strlen(words[i]) && memcmp(dot + 1, words[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* Only for C names: Go has dots and numbers of its own, which distinguish closures. */
static bool is_static_number(const char *name, const char *dot)
{
    for (const char *at = name; at < dot; at++) {
        if (!is_word(*at)) {
            return false;
        }
    }
    size_t digits = count_digits(dot + 1);
    return digits > 0 && dot[1 + digits] == '\0';
}

/* The length of a name without its suffixes. */
static size_t stem_bytes(const char *name)
{
    const char *clone = strstr(name, " [clone .");
    size_t bytes = clone && clone > name ? (size_t)(clone - name) : strlen(name);
    size_t mark_bytes = strlen(FOLDED_MARK);
    if (bytes > mark_bytes && memcmp(name + bytes - mark_bytes, FOLDED_MARK, mark_bytes) == 0) {
        bytes -= mark_bytes;
    }
    for (const char *dot = strchr(name, '.'); dot && dot < name + bytes;
         dot = strchr(dot + 1, '.')) {
        if (dot > name && (is_copy_mark(dot) || is_static_number(name, dot))) {
            bytes = (size_t)(dot - name);
            break;
        }
    }
    size_t hash_bytes = RUST_HASH_DIGITS + 3;
    if (bytes > hash_bytes && memcmp(name + bytes - hash_bytes, "::h", 3) == 0 &&
        count_hex(name + bytes - RUST_HASH_DIGITS) >= RUST_HASH_DIGITS) {
        bytes -= hash_bytes;
    }
    return bytes;
}

/* The length of "[abi:cxx11]", or of a crate's number "[1f2e3d4c5b6a798]"; 0 for anything else. */
static size_t tag_bytes(const char *at)
{
    static const char abi[] = "[abi:";
    if (strncmp(at, abi, sizeof(abi) - 1) == 0) {
        const char *end = strchr(at, ']');
        return end ? (size_t)(end - at) + 1 : 0;
    }
    size_t digits = at[0] == '[' ? count_hex(at + 1) : 0;
    bool is_crate = digits >= RUST_CRATE_MIN && digits <= RUST_CRATE_MAX && at[1 + digits] == ']';
    return is_crate ? digits + 2 : 0;
}

/* The length of "{lambda(int)#2}" or "$_1"; 0 for anything else. */
static size_t closure_bytes(const char *at)
{
    static const char start[] = "{lambda(";
    if (at[0] == '$' && at[1] == '_') {
        size_t digits = count_digits(at + 2);
        return digits > 0 && !is_word(at[2 + digits]) ? digits + 2 : 0;
    }
    if (strncmp(at, start, sizeof(start) - 1) != 0) {
        return 0;
    }
    size_t depth = 0; /* its parameters may be closures themselves */
    for (const char *end = at; *end; end++) {
        depth += *end == '{';
        depth -= *end == '}';
        if (depth == 0) {
            return (size_t)(end - at) + 1;
        }
    }
    return 0;
}

void hs_diff_write_name(const char *name, struct hs_buf *buf)
{
    size_t bytes = stem_bytes(name);
    for (size_t at = 0; at < bytes;) {
        size_t closure = closure_bytes(name + at);
        size_t tag = at > 0 && is_word(name[at - 1]) ? tag_bytes(name + at) : 0;
        if (closure > 0 && at + closure <= bytes) {
            hs_buf_str(buf, "{lambda}");
            at += closure;
        } else if (tag > 0 && at + tag <= bytes) {
            at += tag;
        } else {
            bool is_gap = at > 0 && name[at - 1] == '>' && name[at] == ' ' && name[at + 1] == '>';
            if (!is_gap) {
                hs_buf_char(buf, name[at]);
            }
            at++;
        }
    }
}
