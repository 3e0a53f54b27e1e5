/*
 * Setting the state, and the page that a fork empties. See life_state.h.
 */
#include "client/tables/life_state.h"

#include <sys/mman.h>

#include "client/tables/region.h"
#include "rt/sys.h"

static const uint32_t not_alive = 0;

struct hs_life_state hs_life_state = { .alive_word = &not_alive };

static uint32_t *alive_page;

/* Makes a page that the kernel empties in a forked child. */
static uint32_t *make_page(void)
{
    long va = hs_sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    if (hs_sys_madvise((void *)va, 4096, MADV_WIPEONFORK) != 0) {
        return NULL; /* a kernel before 4.14: a child could not be recognized */
    }
    return (uint32_t *)va;
}

bool hs_life_state_init(void)
{
    alive_page = alive_page ? alive_page : make_page();
    return alive_page != NULL;
}

bool hs_life_state_take(enum hs_life from, enum hs_life to)
{
    uint32_t expected = from;
    /* ORDER life: one thread changes it; what it prepared comes with ON. */
    return hs_cas_acq_rel(&hs_life_state.state, &expected, to);
}

static uint32_t alive_by_flags(void)
{
    return hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_LIFETIMES ? HS_ALIVE_TIMED
                                                                                  : HS_ALIVE_PLAIN;
}

void hs_life_state_follow_timing(void)
{
    uint32_t now = alive_page ? hs_load_relaxed(alive_page) : 0;
    uint32_t wanted = alive_by_flags();
    if (now != 0 && now != wanted) {
        /* In a child that was forked meanwhile the word is 0, and stays so. */
        hs_cas_relaxed(alive_page, &now, wanted);
    }
}

void hs_life_state_turn_on(void)
{
    /* ORDER life: all that was prepared, before the word is set, or found. */
    hs_store_release(alive_page, alive_by_flags());
    /* ORDER life: the same, where the word was set before. */
    hs_store_release(&hs_life_state.alive_word, alive_page);
    /* ORDER life: the same for the slow path. */
    hs_store_release(&hs_life_state.state, HS_LIFE_ON);
}

void hs_life_state_pause(void)
{
    hs_store_relaxed(&hs_life_state.alive_word, &not_alive);
}

bool hs_life_state_is_own(void)
{
    return hs_load_relaxed(alive_page) != 0;
}
