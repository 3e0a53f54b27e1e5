/*
 * The interpreters of Perl, PHP and Ruby in this process: what they export tells their version, and
 * where their structures begin.
 *
 * Nothing of an interpreter is called. A library that was unloaded stays in the list: what it left
 * behind is read like everything else, only where it can be read (script_memory.h).
 *
 * Ruby publishes its execution context in a variable of each thread. Its place is computed from the
 * thread pointer, since asking for it may allocate; so it is known only of a libruby that was
 * loaded at the start.
 *
 * Threads   any. hs_script_runtimes_find: no object may be half loaded meanwhile; a thread that
 *           finds another one at work does nothing.
 * Fails     an interpreter of another version is not in the list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/patch/python_interpreters.h"
#include "client/script/perl_frames.h"
#include "client/script/php_frames.h"
#include "client/script/ruby_frames.h"
#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_SCRIPT_RUNTIMES_MAX 4U

/* Functions of an interpreter that are a run loop. */
#define HS_SCRIPT_LOOPS 2U

struct hs_script_runtime {
    uint32_t language; /* enum hs_code_language */
    struct {
        uint64_t start_va, bytes;
    } loops[HS_SCRIPT_LOOPS];
    const void *dynamic; /* of its object */
    uint64_t bias_va;
    hs_script_describe_fn *describe; /* describes its places */
    union {
        struct {
            struct hs_perl roots;
            uint64_t key_va;                 /* PL_thr_key */
            void *(*get_specific)(unsigned); /* pthread_getspecific() */
        } perl;
        struct hs_php php;
        struct {
            struct hs_ruby roots;
            int64_t context_off; /* of ruby_current_ec from the thread pointer */
        } ruby;
    };
};

struct hs_script_runtimes {
    uint32_t is_any;  /* an interpreter was found, of these languages or of Python */
    uint32_t count;   /* elements that may be used; they never change again */
    uint32_t unknown; /* bits by language: interpreters whose structures are not known */
    struct hs_script_runtime list[HS_SCRIPT_RUNTIMES_MAX];
};

extern HS_HIDDEN struct hs_script_runtimes hs_script_runtimes;

/* Looks for interpreters among the loaded objects; after hs_python_interpreters_find(). */
void hs_script_runtimes_find(void);

/* In a forked child: a thread that was at work does not exist there. */
void hs_script_runtimes_follow_fork(void);

/* Reports the frames of the script that this thread runs; one of the runtime's loops is in its
 * native stack. */
enum hs_script_end hs_script_runtime_read(const struct hs_script_runtime *runtime,
                                          struct hs_script_memory *memory,
                                          const struct hs_script_sink *sink);

/* --- hot -------------------------------------------------------------------------------------- */

/* Has any interpreter been found, Python's included? */
static inline bool hs_script_runtimes_is_any(void)
{
    return hs_load_relaxed(&hs_script_runtimes.is_any);
}

/* What the interpreter's describe() gets as roots. */
static inline const void *hs_script_runtime_roots(const struct hs_script_runtime *runtime)
{
    switch (runtime->language) {
    case HS_LANGUAGE_PERL:
        return &runtime->perl.roots;
    case HS_LANGUAGE_PHP:
        return &runtime->php;
    default:
        return &runtime->ruby.roots;
    }
}
