/*
 * Naming heaps, and the rules that say which are recorded. See heaps.h.
 */
#include "client/tables/heaps.h"

#include <string.h>

#include "client/tables/heap_blocks.h"
#include "client/tables/life_state.h"
#include "fmt/ctl_layout.h"
#include "rt/sys.h"
#include "rt/text.h"

/* What a region's element is written from. */
struct heap {
    char name[HS_HEAP_NAME_BYTES];
    uint32_t flags;
    uint32_t parent;
};

static struct heap heaps[HS_REGION_HEAPS] = { { .name = "libc.malloc" } };
static uint32_t heap_count = 1;
static uint32_t adding; /* 1: a thread is adding a heap */
/* The most times that others let it go on. It takes microseconds. */
#define ADDING_WAITS 100000U
static bool is_any_recorded;

uint32_t hs_heaps_generation;

/* --- names ------------------------------------------------------------------------------------ */

static void write_element(uint8_t heap_id)
{
    const struct heap *heap = &heaps[heap_id];
    struct hs_heap_v2 *element = hs_heaps_element(heap_id);
    for (unsigned i = 0; i < HS_HEAP_NAME_BYTES; i++) {
        element->name[i] = heap->name[i];
    }
    element->parent = heap->parent;
    /* ORDER heap: the element is whole. */
    hs_store_release(&element->flags, hs_load_relaxed(&heap->flags) | HS_HEAP_NAMED);
}

void hs_heaps_write_all(void)
{
    /* ORDER heap-count: a heap's name and flags. */
    uint32_t count = hs_load_acquire(&heap_count);
    for (uint32_t i = 0; i < count; i++) {
        write_element((uint8_t)i);
    }
    hs_store_relaxed(&hs_region.header->sections[HS_SECTION_HEAPS].count, count);
}

/* False: the thread that is adding a heap does not go on, for example because this thread has a
 * higher priority and the only CPU. */
static bool enter(void)
{
    uint32_t expected = 0;
    for (unsigned i = 0; i < ADDING_WAITS; i++) {
        /* ORDER heap-add: all that the last thread wrote. */
        if (hs_cas_acq_rel(&adding, &expected, 1)) {
            return true;
        }
        expected = 0;
        hs_sys_yield();
    }
    return false;
}

static void leave(void)
{
    /* ORDER heap-add: all that this thread wrote. */
    hs_store_release(&adding, 0);
}

void hs_heaps_follow_fork(void)
{
    adding = 0;
}

/* Enters a heap in the region. A report that finds it recorded does not ask again before settings
 * change, so its interval comes with it. */
static void write_new(uint32_t heap_id)
{
    write_element((uint8_t)heap_id);
    hs_store_relaxed(&hs_heaps_element((uint8_t)heap_id)->interval_bytes,
                     hs_heaps_wanted_interval((uint8_t)heap_id));
    hs_store_relaxed(&hs_region.header->sections[HS_SECTION_HEAPS].count, heap_id + 1);
}

static void describe(struct heap *heap, const char *name, uint32_t flags, uint32_t parent)
{
    unsigned len = 0;
    for (; len < HS_HEAP_NAME_BYTES - 1 && name[len]; len++) {
        heap->name[len] = name[len];
    }
    /* A thread of a forked child's parent may have begun to write another name. */
    for (; len < HS_HEAP_NAME_BYTES; len++) {
        heap->name[len] = '\0';
    }
    heap->flags = flags;
    heap->parent = parent;
}

uint8_t hs_heaps_add(const char *name, uint32_t flags, uint32_t parent)
{
    if (!enter()) {
        return 0;
    }
    uint32_t id = heap_count < HS_REGION_HEAPS && hs_heap_blocks_init() ? heap_count : 0;
    if (id != 0) {
        describe(&heaps[id], name, flags, parent);
        /* ORDER heap-count: as in hs_heaps_write_all. */
        hs_store_release(&heap_count, id + 1);
        /* In a forked child that has not begun, the region is the parent's. */
        if (hs_life_state_is_alive()) {
            write_new(id);
        }
    }
    leave();
    return (uint8_t)id;
}

void hs_heaps_set_own_samples(uint8_t heap_id)
{
    struct hs_heap_v2 *element = hs_heaps_element(heap_id);
    if (!(hs_load_relaxed(&heaps[heap_id].flags) & HS_HEAP_OWN_SAMPLES)) {
        hs_or_relaxed(&heaps[heap_id].flags, HS_HEAP_OWN_SAMPLES);
        hs_or_relaxed(&element->flags, HS_HEAP_OWN_SAMPLES);
    }
}

/* --- settings --------------------------------------------------------------------------------- */

/* The rules lie in memory that a collector writes: each is copied, and ended, before it is used. */
static bool does_rule_match(const struct hs_heap_rule_v2 *rule, const char *name)
{
    char pattern[HS_HEAP_NAME_BYTES];
    for (unsigned i = 0; i < HS_HEAP_NAME_BYTES; i++) {
        pattern[i] = hs_load_relaxed(&rule->pattern[i]);
    }
    pattern[HS_HEAP_NAME_BYTES - 1] = '\0';
    return hs_text_matches(pattern, name);
}

static uint64_t selected_interval(const char *name)
{
    const struct hs_heap_selection_v2 *selection = &hs_control_page.control.heap_selection;
    uint32_t count = hs_load_relaxed(&selection->rule_count);
    count = count < HS_REGION_HEAP_RULES ? count : HS_REGION_HEAP_RULES;
    for (uint32_t i = 0; i < count; i++) {
        if (does_rule_match(&selection->rules[i], name)) {
            return hs_load_relaxed(&selection->rules[i].interval_bytes);
        }
    }
    return hs_load_relaxed(&selection->other_interval_bytes);
}

static uint64_t wanted_interval(const char *name, uint32_t flags)
{
    uint64_t present_bytes = hs_load_relaxed(&hs_control_page.control.interval_bytes);
    uint64_t interval_bytes = selected_interval(name);
    if (present_bytes == HS_INTERVAL_OFF || interval_bytes == HS_INTERVAL_SAME) {
        interval_bytes = present_bytes;
    }
    return interval_bytes != HS_INTERVAL_OFF && (flags & HS_HEAP_EXACT) ? 1 : interval_bytes;
}

uint64_t hs_heaps_wanted_interval(uint8_t heap_id)
{
    const struct heap *heap = &heaps[heap_id];
    return wanted_interval(heap->name, hs_load_relaxed(&heap->flags));
}

uint64_t hs_heaps_named_interval(const char *name)
{
    return wanted_interval(name, 0);
}

bool hs_heaps_is_wanted(const char *name)
{
    return hs_heaps_named_interval(name) != HS_INTERVAL_OFF;
}

static const char *parse_number(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value > UINT64_MAX / 10 - 9 ? value : value * 10 + (uint64_t)(*text - '0');
    }
    *ret_value = value;
    return text;
}

/* Reads PATTERN or PATTERN=BYTES. Returns what follows it. */
static const char *parse_rule(const char *text, struct hs_heap_rule_v2 *ret_rule)
{
    unsigned len = 0;
    memset(ret_rule, 0, sizeof(*ret_rule)); /* a collector compares all of it with its own */
    for (; *text && *text != '=' && *text != ','; text++) {
        ret_rule->pattern[len] = *text;
        len += len < HS_HEAP_NAME_BYTES - 1;
    }
    ret_rule->pattern[len] = '\0'; /* also if it is too long */
    ret_rule->interval_bytes = HS_INTERVAL_SAME;
    if (*text == '=') {
        text = parse_number(text + 1, &ret_rule->interval_bytes);
    }
    while (*text && *text != ',') {
        text++;
    }
    return *text ? text + 1 : text;
}

void hs_heaps_select(const char *text)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    struct hs_heap_selection_v2 *selection = &control->heap_selection;
    struct hs_heap_rule_v2 rule;
    bool is_malloc_known = false, is_over = false;
    /* A new region begins with the selection of the last session. */
    control->flags &=
        ~(uint32_t)(HS_CONTROL_NO_MALLOC | HS_CONTROL_LIFETIMES | HS_CONTROL_NATIVE_ONLY);
    selection->other_interval_bytes = HS_INTERVAL_SAME;
    selection->rule_count = 0;
    memset(selection->rules, 0, sizeof(selection->rules));
    while (*text && !is_over) {
        text = parse_rule(text, &rule);
        if (hs_text_is_same(rule.pattern, HS_HEAPS_LIFETIMES)) {
            control->flags |= HS_CONTROL_LIFETIMES;
            continue;
        }
        if (hs_text_is_same(rule.pattern, HS_HEAPS_NATIVE_ONLY)) {
            control->flags |= HS_CONTROL_NATIVE_ONLY;
            continue;
        }
        if (!is_malloc_known && hs_text_matches(rule.pattern, heaps[0].name)) {
            is_malloc_known = true;
            control->flags |= rule.interval_bytes == HS_INTERVAL_OFF ? HS_CONTROL_NO_MALLOC : 0U;
        }
        if (hs_text_is_same(rule.pattern, "*")) {
            selection->other_interval_bytes = rule.interval_bytes;
            is_over = true;
        } else if (!hs_text_is_same(rule.pattern, heaps[0].name) &&
                   selection->rule_count < HS_REGION_HEAP_RULES) {
            selection->rules[selection->rule_count++] = rule;
        }
    }
}

/* Two threads may do this at once: both write the same. */
void hs_heaps_pick_up(void)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint32_t generation;
    do {
        /* ORDER settings: the rules that belong to this generation. */
        generation = hs_load_acquire(&control->generation);
        bool is_any = false;
        /* ORDER heap-count: as in hs_heaps_write_all. */
        uint32_t count = hs_load_acquire(&heap_count);
        for (uint32_t i = 1; i < count; i++) {
            uint64_t interval_bytes = hs_heaps_wanted_interval((uint8_t)i);
            if (!(hs_load_relaxed(&hs_heaps_element((uint8_t)i)->flags) & HS_HEAP_NAMED)) {
                write_new(i); /* it was added while the region was being made */
            }
            hs_store_relaxed(&hs_heaps_element((uint8_t)i)->interval_bytes, interval_bytes);
            is_any |= interval_bytes != HS_INTERVAL_OFF;
        }
        hs_store_relaxed(&is_any_recorded, is_any);
        /* ORDER settings: they have not changed meanwhile. */
    } while (generation != hs_load_acquire(&control->generation));
    /* ORDER settings: the intervals before their generation. */
    hs_store_release(&hs_heaps_generation, generation);
}

void hs_heaps_switch_off(void)
{
    hs_store_relaxed(&is_any_recorded, false);
    hs_store_relaxed(&hs_heaps_generation, hs_load_relaxed(&hs_control_page.control.generation));
}

bool hs_heaps_is_any_recorded(void)
{
    return hs_load_relaxed(&is_any_recorded);
}
