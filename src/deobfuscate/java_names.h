/*
 * The names that methods had before an obfuscator renamed them: collected from mappings, and found
 * for the frames of a profile.
 *
 *     struct hs_java_names names = { 0 };
 *     hs_java_names_add(&names, "org.app", "a.b", "org.app.Cache", &method);      for each
 *     if (hs_java_names_find(&names, &frame, &answer) == 0 && answer.count > 0) {
 *         ... answer.lines, the innermost first ...
 *     }
 *     hs_java_answer_deinit(&answer);
 *     hs_java_names_deinit(&names);
 *
 * The rules are those of Perfetto's trace_processor. A frame "class.method" is looked up in the
 * mappings of its package. This is the package that the path of the frame's file names; otherwise
 * the packages that the user of its process can run; last "", the package of a mapping that names
 * none. Code in a memfd can belong to any package: the last mapping with that name is used. If the
 * line is known, the methods whose lines contain it are one chain of inlined calls. Otherwise all
 * possible names are listed: "A | B".
 *
 * Names of the JVM's perf maps are understood as well: "int a.b.c(byte[])" is looked up as "a.b.c".
 *
 * Threads   one user; finding is a pure function.
 * Fails     -ENOMEM, -EOVERFLOW
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deobfuscate/app_package.h"
#include "util/buf.h"
#include "util/intern_array.h"

#define HS_JAVA_CHAIN_MAX 64U

/* A method of a mapping. */
struct hs_java_method {
    const char *obfuscated; /* without its class */
    const char *original;   /* "load", or "org.app.Log.put" if it came from another class */
    bool has_lines, has_source, has_source_last;
    uint32_t line_first, line_last, source_first, source_last;
};

struct hs_java_kept {
    uint32_t name_off; /* in texts[]: the original "class.method" */
    uint32_t line_first, line_last, source_first, source_last;
    bool has_lines, has_source, has_source_last;
    uint32_t next; /* 1 + index of the next method with the same obfuscated name; 0: none */
};

struct hs_java_list {
    uint32_t first, last; /* 1 + index in methods[]; 0: none */
};

/* All fields are private; zeros are an empty table. */
struct hs_java_names {
    struct hs_java_kept *methods;
    size_t method_count, method_capacity;
    struct hs_intern_array list_ids; /* keys: (package, obfuscated "class.method") */
    struct hs_java_list *lists;
    struct hs_intern_array last_ids; /* keys: obfuscated "class.method" */
    uint64_t *last_packages;         /* hash of the last package that has the method */
    struct hs_intern_array text_ids;
    uint32_t *text_offs;
    struct hs_buf texts;
};

/* Frees the table. */
void hs_java_names_deinit(struct hs_java_names *names);

/* Adds a method of the class `obfuscated`, which was `original`. A later one is found as well. */
int hs_java_names_add(struct hs_java_names *names, const char *package, const char *obfuscated,
                      const char *original, const struct hs_java_method *method);

/* A frame whose name is looked up. */
struct hs_java_frame {
    const char *name, *path; /* path of its file */
    bool has_line;
    uint32_t line;
    /* packages that the user of its process can run */
    const char *const *packages;
    size_t package_count;
    /* trace_processor counts the lines of a call on from its line in the source; true: so do we */
    bool has_perfetto_lines;
};

struct hs_java_line {
    const char *name;
    bool has_line;
    uint32_t line;
};

struct hs_java_answer {
    struct hs_java_line lines[HS_JAVA_CHAIN_MAX]; /* the innermost inlined method first */
    uint32_t count;                               /* 0: no mapping has the name */
    bool is_chain;                                /* found by the line */
    bool is_path_bad;                             /* HS_APP_PACKAGE_BAD */
    struct hs_buf joined;                         /* private: the text of "A | B" */
};

/* Finds the names of a frame. Fills *ret_answer, which hs_java_answer_deinit() frees. */
int hs_java_names_find(const struct hs_java_names *names, const struct hs_java_frame *frame,
                       struct hs_java_answer *ret_answer);
void hs_java_answer_deinit(struct hs_java_answer *answer);

/* The part of a frame's name that is looked up, "class.method"; *ret_bytes 0: it cannot be the name
 * of a Java method. */
const char *hs_java_name_key(const char *name, size_t *ret_bytes);
