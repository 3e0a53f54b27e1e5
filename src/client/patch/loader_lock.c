/*
 * Running a function inside a resolver. See loader_lock.h.
 */
#include "client/patch/loader_lock.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "client/host/real.h"

/* What the resolver calls: it runs within this thread's call of dlsym(). */
struct job {
    hs_locked_fn *fn; /* NULL: nothing, or it has been called */
    void *ctx;
};

static __thread struct job job;

static void run_job(void)
{
    hs_locked_fn *fn = job.fn;
    job.fn = NULL;
    if (fn) {
        fn(job.ctx);
    }
}

static void nothing(void)
{
}

/* Any other caller that looks up the symbol gets a function that does nothing. */
static __attribute__((used)) void (*resolve_locked(void))(void)
{
    run_job();
    return nothing;
}

HS_EXPORT void heapscope_locked_v1(void) __attribute__((ifunc("resolve_locked")));

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    (void)info;
    (void)bytes;
    (void)ctx;
    run_job();
    return 1;
}

/* A preloaded client is among the first objects in which the loader looks for any name. */
void hs_loader_lock_call_always(hs_locked_fn *fn, void *ctx)
{
    void *handle = hs_real.is_preloaded ? RTLD_DEFAULT : (void *)hs_real.self;
    job = (struct job){ fn, ctx };
    if (hs_real.dlsym && hs_real.self) {
        hs_real.dlsym(handle, "heapscope_locked_v1");
    }
    if (job.fn) {
        dl_iterate_phdr(on_object, NULL);
    }
}

void hs_loader_lock_call(hs_locked_fn *fn, void *ctx)
{
    if (hs_real.is_preloaded) {
        fn(ctx);
    } else {
        hs_loader_lock_call_always(fn, ctx);
    }
}
