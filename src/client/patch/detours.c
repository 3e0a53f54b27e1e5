/*
 * The table of detours. See detours.h.
 */
#include "client/patch/detours.h"

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/text.h"

/* The collector reads it from outside. The count is set last. */
HS_EXPORT struct hs_detours_v1 heapscope_detours_v1 = { .detours_bytes =
                                                            sizeof(struct hs_detours_v1) };

void *hs_detours_real(const char *name)
{
    const struct hs_detours_v1 *detours = &heapscope_detours_v1;
    uint32_t count = hs_load_relaxed(&detours->count);
    for (uint32_t i = 0; i < count; i++) {
        if (detours->rows[i].own_number == 0 && hs_text_is_same(detours->rows[i].name, name)) {
            return (void *)(uintptr_t)detours->rows[i].real_va;
        }
    }
    return NULL;
}
