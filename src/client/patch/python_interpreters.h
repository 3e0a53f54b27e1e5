/*
 * The CPython interpreters in the process: where their thread states and their evaluation function
 * are. thread/python_stack.h reads the frames of Python in samples by this.
 *
 * An interpreter is a loaded object that exports the functions below. Which version it is follows
 * from what else it exports. Left alone are interpreters that export nothing: those linked into an
 * executable whose symbols are not visible.
 *
 * The functions that a sample calls read a variable each, and one of pthread's thread-specific
 * values: they neither allocate nor lock (checked in the machine code of each version). Those that
 * find the state of the thread that has the interpreter's lock are called only after the thread is
 * known to the interpreter: a first access to a variable of a thread may allocate it.
 *
 * Threads   any. Finding: no object may be half loaded meanwhile; a thread that finds another one
 *           at work does nothing.
 * See       docs/adr/0045-python-frames.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/python/python_frames.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_PYTHON_INTERPRETERS_MAX 4U

struct hs_python_interpreter {
    struct hs_python_types types;
    void *(*state_of_thread)(void); /* PyGILState_GetThisThreadState */
    void *(*state_running)(void);   /* of the thread that has the lock, or (3.12) of this thread */
    uint64_t eval_va;               /* _PyEval_EvalFrameDefault, */
    uint64_t eval_bytes;            /* its size */
    const void *dynamic;            /* of its object; NULL: it was unloaded */
    uint64_t bias_va;
};

struct hs_python_interpreters {
    uint32_t count; /* 0 also while a library is being unloaded */
    uint32_t known; /* elements in use */
    struct hs_python_interpreter list[HS_PYTHON_INTERPRETERS_MAX];
    /* An interpreter whose version or layout is not known: its hexadecimal version, as in
     * PY_VERSION_HEX, lower 16 bits 0; 0: there is none. */
    uint32_t unknown_version;
};

extern HS_HIDDEN struct hs_python_interpreters hs_python_interpreters;

/* Looks for interpreters among the loaded objects. */
void hs_python_interpreters_find(void);

/* Called before and after a library is unloaded. In between no sample begins to read frames of
 * Python, and those that have begun have ended (or were abandoned by a longjmp). */
void hs_python_interpreters_before_unload(void);
void hs_python_interpreters_after_unload(void);

/* In a forked child: a thread that was at work does not exist there. */
void hs_python_interpreters_follow_fork(void);

/* Between these two an interpreter's functions may be called. False: there is none. */
bool hs_python_interpreters_enter(void);
void hs_python_interpreters_leave(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* Is there an interpreter? */
static inline bool hs_python_interpreters_are_there(void)
{
    return hs_load_relaxed(&hs_python_interpreters.count) > 0;
}
