/*
 * Reads maps of R8 and ProGuard: which names their classes and members had before these tools
 * renamed them.
 *
 *     org.app.Cache -> a.b:                                   a class
 *     # {"id":"sourceFile","fileName":"Cache.kt"}             a comment; comments are left out
 *         int size -> a                                       a field
 *         1:4:void load(int):20:23 -> a                       lines 1 to 4 were lines 20 to 23
 *         5:5:void org.app.Log.put():7:7 -> a                 inlined from another class, ...
 *         5:5:void load(int):24 -> a                          ... into this method, at line 24
 *
 * The file is read in pieces: a map of any length needs the memory of its longest line, and some
 * forty bytes for each class, by which a second class with the same new name is found.
 * What R8 writes in comments (source files, synthesized members, outlined code) has no place in a
 * DeobfuscationMapping, and is left out.
 *
 * Threads   one user for each parser.
 * Fails     -errno of read(2); HS_PROGUARD_E_LINE, with the line and what is wrong with it; what a
 *           function of the sink returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_PROGUARD_E_LINE 20
/* A longer line is an error. Comments may have any length. */
#define HS_PROGUARD_LINE_MAX ((size_t)1 << 20)

/* A part of a line, without a NUL at its end. */
struct hs_proguard_text {
    const char *at;
    size_t bytes;
};

struct hs_proguard_member {
    bool is_method;
    /* with the class in front of it, "org.app.Log.put", if it came from another class */
    struct hs_proguard_text original, obfuscated;
    bool has_lines; /* the lines below are known */
    uint32_t line_first, line_last;
    /* lines before obfuscation: those of a call have the same number twice */
    uint32_t source_first, source_last;
};

/* Each returns 0, or an error that ends the parser. The texts are valid during the call. */
struct hs_proguard_sink {
    void *ctx;
    int (*take_class)(void *ctx, struct hs_proguard_text original,
                      struct hs_proguard_text obfuscated);
    /* a member of the last class */
    int (*take_member)(void *ctx, const struct hs_proguard_member *member);
};

struct hs_proguard_error {
    uint64_t line;    /* 1-based; 0: none */
    const char *what; /* what is wrong with it, a constant text */
};

/* Reads text in memory. ret_error is filled for HS_PROGUARD_E_LINE. */
int hs_proguard_map_parse(const char *text, size_t bytes, const struct hs_proguard_sink *sink,
                          struct hs_proguard_error *ret_error);
/* Reads a file from where its descriptor is. */
int hs_proguard_map_read(int fd, const struct hs_proguard_sink *sink,
                         struct hs_proguard_error *ret_error);
