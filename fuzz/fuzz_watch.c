/*
 * Fuzz target: a series of updates, as a viewer receives them from a worker. Before each of them
 * stands its length, two bytes, little-endian. Whatever they say, the state stays valid, and a
 * profile can be made of it.
 */
#include <stdint.h>

#include "check_profile.h"
#include "watch/receive/watch_profile.h"
#include "watch/receive/watch_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply(struct hs_watch_state *state, const uint8_t *data, size_t size)
{
    Hs__Ctl__Update *update = hs__ctl__update__unpack(NULL, size, data);
    /* A large id costs memory, as it may, and time, which the fuzzer needs. */
    for (size_t i = 0; update && update->stacks && i < update->stacks->n_id; i++) {
        update->stacks->id[i] %= 4096;
    }
    if (update) {
        hs_watch_state_apply(state, update);
        hs__ctl__update__free_unpacked(update, NULL);
    }
#if HS_HAS_CHECKS
    check(hs_snapshot_is_valid(state->snap));
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_watch_state state;
    struct hs_profile *profile = NULL;
    if (hs_watch_state_init(&state) < 0) {
        return 0;
    }
    while (size >= 2) {
        size_t bytes = (size_t)(data[0] | data[1] << 8);
        bytes = bytes < size - 2 ? bytes : size - 2;
        apply(&state, data + 2, bytes);
        data += 2 + bytes;
        size -= 2 + bytes;
    }
    if (hs_watch_profile_make(&state, NULL, &profile) == 0) {
        check_profile(profile);
        hs_profile_free(profile);
    }
    hs_watch_state_deinit(&state);
    return 0;
}
