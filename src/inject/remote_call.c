/*
 * Calls one function: see remote_call.h.
 */
#include "inject/remote_call.h"

#include <string.h>
#include <time.h>

#include "rt/sys.h"

/* A call that is asleep after this time is taken to wait for something that will never come. */
#define CALL_NS UINT64_C(2000000000)

/* A file that was loaded from a descriptor has no name but the descriptor's number. */
static const char *name_of(const struct hs_remote_object *object)
{
    return object->is_from_descriptor ? "heapscope's library" : object->name;
}

static int translate(struct hs_inject_session *s, enum hs_tracee_outcome outcome, const char *what)
{
    const struct hs_remote_object *object;
    switch (outcome) {
    case HS_TRACEE_RETURNED:
        return HS_INJECT_DONE;
    case HS_TRACEE_CRASHED:
        object = hs_remote_objects_at(&s->objects, s->tracee.crash_pc);
        hs_inject_session_say(s, "%s: signal %d at 0x%llx%s%s", what, s->tracee.crash_signal,
                              (unsigned long long)s->tracee.crash_pc, object ? ", in " : "",
                              object ? name_of(object) : "");
        return HS_INJECT_CRASHED;
    case HS_TRACEE_HUNG:
        hs_inject_session_say(s, "%s did not return", what);
        return HS_INJECT_HUNG;
    case HS_TRACEE_GONE:
        return HS_INJECT_DIED;
    case HS_TRACEE_FAILED:
        break;
    }
    hs_inject_session_say(s, "%s: %s", what, strerror(s->tracee.error));
    return HS_INJECT_BAD_MEMORY;
}

int hs_remote_call(struct hs_inject_session *s, const char *what, uint64_t function_va,
                   const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX], uint64_t *ret_value)
{
    uint64_t deadline_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + CALL_NS;
    return translate(s, hs_tracee_call(&s->tracee, function_va, arguments, deadline_ns, ret_value),
                     what);
}

int hs_remote_put(struct hs_inject_session *s, const void *bytes, size_t size_bytes,
                  uint64_t *ret_va)
{
    uint64_t va = hs_tracee_reserve(&s->tracee, size_bytes);
    if (hs_remote_memory_write(&s->memory, va, bytes, size_bytes) < 0) {
        hs_inject_session_say(s, "its stack cannot be written");
        return HS_INJECT_BAD_MEMORY;
    }
    *ret_va = va;
    return HS_INJECT_DONE;
}
