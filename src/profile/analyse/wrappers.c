/*
 * See wrappers.h.
 */
#include "profile/analyse/wrappers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/frame_class.h"
#include "rt/base.h"
#include "util/array.h"
#include "util/cxx_name.h"
#include "util/intern.h"

#define ROUNDS_MAX 8U
#define NO_CALLER  UINT32_MAX
#define OF_A_LINE  (UINT64_C(1) << 32)

/* Shares of what a function allocates itself: */
#define ITSELF_SHARE_MIN        0.95 /* the least share of all that is allocated under it */
#define ONE_ALLOCATOR_SHARE_MIN 0.95 /* the least share through one allocating function */
#define CALLED_SHARE_MIN        0.5  /* the least share with a caller in the program */
/* the least share inside a function whose name says that it allocates */
#define INSIDE_SHARE_MIN 0.9
#define CALLER_SHARE_MIN 0.02 /* the least share of a caller that counts */

/*
 * A function with a clear pattern is a wrapper whatever its name: it has so many callers, none of
 * them above this share, and sizes that differ so much (the standard deviation of the binary
 * logarithms of their mean sizes: 1 is a factor of two in either direction).
 */
#define SHAPE_CALLERS_MIN      5U
#define SHAPE_CALLER_SHARE_MAX 0.5
#define SHAPE_SIZE_DEVIATION   1.0
/*
 * In stripped code, where a "function" is one call of an allocating function: sizes that depend on
 * the callers suffice, even if one caller has most of it.
 */
#define NAMELESS_CALLERS_MIN    3U
#define NAMELESS_SIZE_DEVIATION 1.5
/* For a name that says it less clearly. */
#define NAMED_CALLERS_MIN    2U
#define NAMED_SIZE_DEVIATION 0.15

enum name_kind {
    NAME_NONE,
    NAME_OTHER,
    NAME_WEAK,   /* alloc, allocate: may be the name of a constructor */
    NAME_STRONG, /* contains one of C's own words: malloc, realloc ... */
    NAME_PLAIN,  /* ends with such a word: luaM_realloc_ */
};

/*
 * What one function allocated through another function (or through malloc, at a line), or on behalf
 * of one caller.
 */
struct pair {
    uint32_t function;
    uint64_t other; /* of callers: a function */
    double bytes, count;
};

struct pairs {
    struct hs_intern ids; /* keys: the function, and the other function or the line */
    struct pair *rows;
    size_t capacity;
};

/*
 * The number of callers, and the sums over the binary logarithms of the mean sizes that they got.
 */
struct spread {
    uint32_t count;
    double sum, squares;
};

/* The figures of a function where it is the innermost one of the program. */
struct shape {
    double self_bytes, total_bytes, called_bytes, inside_bytes;
    double largest_allocator_bytes; /* the most through one function that it calls */
    double largest_caller_bytes;
    struct spread callers, all_callers; /* callers that count; all callers */
    uint32_t only_caller;               /* NO_CALLER: there are several, or none */
};

struct finder {
    struct hs_agg *agg;
    enum hs_quantity quantity;
    uint8_t *names; /* enum name_kind, by function */
    struct shape *shapes;
    /*
     * By function: its only caller, if that allocates nothing in another way, as an outer wrapper
     * does. The callers of the outermost one count as callers of all.
     */
    uint32_t *outer;
    struct pairs callers, allocators;
};

/* --- names --- */

static enum name_kind name_kind_of(const char *name)
{
    static const char *const strong[] = { "malloc",   "calloc", "realloc", "zalloc",
                                          "memalign", "strdup", "strndup", "memdup" };
    char lower[128];
    size_t bytes;
    const char *last = hs_cxx_last_component(name, &bytes);
    if (name[0] == '\0') {
        return NAME_NONE;
    }
    bytes = bytes < sizeof(lower) - 1 ? bytes : sizeof(lower) - 1;
    for (size_t i = 0; i < bytes; i++) {
        lower[i] = (char)tolower((unsigned char)last[i]);
    }
    lower[bytes] = '\0';
    if (strstr(lower, "prealloc") || strstr(lower, "dealloc")) {
        return NAME_OTHER;
    }
    for (size_t i = 0; i < HS_COUNT_OF(strong); i++) {
        const char *word = strstr(lower, strong[i]);
        if (word) {
            word += strlen(strong[i]);
            return word[strspn(word, "_0123456789")] == '\0' ? NAME_PLAIN : NAME_STRONG;
        }
    }
    return strstr(lower, "alloc") ? NAME_WEAK : NAME_OTHER;
}

static bool is_named_allocator(const struct finder *f, uint32_t function)
{
    return f->agg->functions[function].class_ == HS_FRAME_CLASS_ALLOCATOR ||
           f->names[function] == NAME_PLAIN;
}

/* --- what each function allocates, for which caller, through which function --- */

static int add_pair(struct pairs *pairs, uint32_t function, uint64_t other,
                    const struct hs_amount *amount)
{
    uint32_t id;
    bool is_new;
    struct hs_intern_key key = { .hi = function, .lo = other };
    int r = hs_intern_put(&pairs->ids, key, &id, &is_new);
    if (r == 0 && is_new) {
        r = hs_array_reserve(&pairs->rows, &pairs->capacity, (size_t)id + 1, sizeof(*pairs->rows));
        if (r == 0) {
            pairs->rows[id] = (struct pair){ .function = function, .other = other };
        }
    }
    if (r == 0) {
        pairs->rows[id].bytes += amount->bytes;
        pairs->rows[id].count += amount->count;
    }
    return r;
}

static void free_pairs(struct pairs *pairs)
{
    hs_intern_deinit(&pairs->ids);
    free(pairs->rows);
    *pairs = (struct pairs){ 0 };
}

/*
 * The innermost node of the program at or above `node`. *ret_inner: the node below it, or `node`
 * itself when there is none.
 */
static uint32_t find_user(const struct hs_agg *agg, uint32_t node, uint32_t *ret_inner)
{
    *ret_inner = node;
    for (uint32_t n = node; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        if (agg->functions[agg->nodes[n].function].class_ == HS_FRAME_CLASS_USER) {
            return n;
        }
        *ret_inner = n;
    }
    return HS_NODE_NONE;
}

/*
 * The function of the program that called it, other than itself and its outer wrappers. `outer`
 * may be NULL.
 */
static uint32_t find_caller(const struct hs_agg *agg, const uint32_t *outer, uint32_t node)
{
    uint32_t function = agg->nodes[node].function, inner;
    for (uint32_t n = agg->nodes[node].parent; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        n = find_user(agg, n, &inner);
        if (n == HS_NODE_NONE) {
            break;
        }
        if (outer && agg->nodes[n].function == outer[function]) {
            function = agg->nodes[n].function;
        } else if (agg->nodes[n].function != function) {
            return agg->nodes[n].function;
        }
    }
    return NO_CALLER;
}

/*
 * Adds a stack to the totals of the functions in it, each once. `stamp` marks functions that were
 * counted for this stack.
 */
static void add_totals(struct finder *f, uint32_t node, double bytes, uint32_t stamp,
                       uint32_t *stamps)
{
    for (uint32_t n = node; n != HS_NODE_NONE; n = f->agg->nodes[n].parent) {
        uint32_t function = f->agg->nodes[n].function;
        if (stamps[function] != stamp) {
            stamps[function] = stamp;
            f->shapes[function].total_bytes += bytes;
        }
    }
}

/*
 * Notes through which function the innermost function of the program, at `user`, got the memory.
 * malloc itself is not a frame; then the line that called it stands for it.
 */
static int add_allocator(struct finder *f, uint32_t user, uint32_t inner,
                         const struct hs_amount *amount)
{
    const struct hs_agg_node *node = &f->agg->nodes[user];
    uint32_t called = f->agg->nodes[inner].function;
    if (inner == user) {
        return add_pair(&f->allocators, node->function, OF_A_LINE | node->line, amount);
    }
    return f->agg->functions[called].class_ == HS_FRAME_CLASS_ALLOCATOR
               ? add_pair(&f->allocators, node->function, called, amount)
               : 0;
}

static int add_stack(struct finder *f, const struct hs_agg_self *self)
{
    const struct hs_agg *agg = f->agg;
    const struct hs_amount *amount = &self->by[f->quantity];
    uint32_t inner;
    uint32_t user = find_user(agg, self->node, &inner);
    if (user == HS_NODE_NONE) {
        return 0;
    }
    uint32_t function = agg->nodes[user].function;
    uint32_t parent = agg->nodes[user].parent;
    uint32_t caller = find_caller(agg, f->outer, user);
    struct shape *shape = &f->shapes[function];
    shape->self_bytes += amount->bytes;
    if (parent != HS_NODE_NONE && is_named_allocator(f, agg->nodes[parent].function)) {
        shape->inside_bytes += amount->bytes;
    }
    int r = add_allocator(f, user, inner, amount);
    if (find_caller(agg, NULL, user) != NO_CALLER) {
        shape->called_bytes += amount->bytes;
    }
    if (caller != NO_CALLER && r == 0) {
        r = add_pair(&f->callers, function, caller, amount);
    }
    return r;
}

static void spread_add(struct spread *spread, double size)
{
    spread->count++;
    spread->sum += size;
    spread->squares += size * size;
}

static void sum_pairs(struct finder *f)
{
    for (uint32_t i = 0; i < f->allocators.ids.count; i++) {
        const struct pair *pair = &f->allocators.rows[i];
        struct shape *shape = &f->shapes[pair->function];
        if (pair->bytes > shape->largest_allocator_bytes) {
            shape->largest_allocator_bytes = pair->bytes;
        }
    }
    for (uint32_t i = 0; i < f->callers.ids.count; i++) {
        const struct pair *pair = &f->callers.rows[i];
        struct shape *shape = &f->shapes[pair->function];
        if (pair->bytes > shape->largest_caller_bytes) {
            shape->largest_caller_bytes = pair->bytes;
        }
        if (pair->bytes > 0 && pair->count > 0) {
            double size = log2(pair->bytes / pair->count);
            spread_add(&shape->all_callers, size);
            shape->only_caller = shape->all_callers.count == 1 ? (uint32_t)pair->other : NO_CALLER;
            if (pair->bytes >= CALLER_SHARE_MIN * shape->self_bytes) {
                spread_add(&shape->callers, size);
            }
        }
    }
}

/* Fills `shapes` from all stacks, with the outer wrappers that are known. */
static int measure_stacks(struct finder *f, uint32_t *stamps)
{
    int r = 0;
    memset(stamps, 0, (f->agg->function_count + 1u) * sizeof(*stamps));
    memset(f->shapes, 0, (f->agg->function_count + 1u) * sizeof(*f->shapes));
    for (uint32_t i = 0; i < f->agg->function_count; i++) {
        f->shapes[i].only_caller = NO_CALLER;
    }
    for (uint32_t i = 0; i < f->agg->self_count && r == 0; i++) {
        const struct hs_agg_self *self = &f->agg->selves[i];
        if (self->by[f->quantity].bytes > 0) {
            add_totals(f, self->node, self->by[f->quantity].bytes, i + 1, stamps);
            r = add_stack(f, self);
        }
    }
    sum_pairs(f);
    free_pairs(&f->callers);
    free_pairs(&f->allocators);
    return r;
}

/*
 * Adds the only caller of a function, and of its outer wrappers so far, to these. In stripped code
 * every call is a "function" of its own, and most have one caller: that says nothing.
 */
static bool add_outer(struct finder *f, uint32_t function)
{
    const struct shape *shape = &f->shapes[function];
    uint32_t caller = shape->only_caller, last = function;
    if (caller == NO_CALLER || f->names[function] == NAME_NONE || f->names[caller] == NAME_NONE ||
        shape->self_bytes < ITSELF_SHARE_MIN * shape->total_bytes ||
        shape->self_bytes < ITSELF_SHARE_MIN * f->shapes[caller].total_bytes) {
        return false;
    }
    while (f->outer[last] != NO_CALLER && last != caller) {
        last = f->outer[last];
    }
    if (last == caller || f->outer[caller] != NO_CALLER) {
        return false; /* they call each other */
    }
    f->outer[last] = caller;
    return true;
}

static int measure(struct finder *f, uint32_t *stamps)
{
    bool is_any = true;
    uint32_t count = f->agg->function_count;
    memset(f->outer, 0xff, (count + 1u) * sizeof(*f->outer)); /* NO_CALLER */
    int r = measure_stacks(f, stamps);
    for (unsigned round = 0; round < ROUNDS_MAX && r == 0 && is_any; round++) {
        is_any = false;
        for (uint32_t i = 0; i < count; i++) {
            is_any |= add_outer(f, i);
        }
        r = is_any ? measure_stacks(f, stamps) : 0;
    }
    return r;
}

/* --- verdicts --- */

/* True when there are so many callers, with sizes that differ so much. */
static bool is_spread(const struct spread *spread, uint32_t count_min, double deviation_min)
{
    double mean = spread->sum / spread->count;
    double variance = spread->squares / spread->count - mean * mean;
    return spread->count >= count_min && variance >= deviation_min * deviation_min;
}

static bool is_wrapper(const struct finder *f, uint32_t function)
{
    const struct shape *shape = &f->shapes[function];
    double self = shape->self_bytes;
    if (f->agg->functions[function].class_ != HS_FRAME_CLASS_USER || self <= 0 ||
        self < ITSELF_SHARE_MIN * shape->total_bytes ||
        shape->called_bytes < CALLED_SHARE_MIN * self) {
        return false;
    }
    if (f->names[function] >= NAME_STRONG || shape->inside_bytes >= INSIDE_SHARE_MIN * self) {
        return true;
    }
    if (shape->largest_allocator_bytes < ONE_ALLOCATOR_SHARE_MIN * self) {
        return false;
    }
    if (shape->largest_caller_bytes <= SHAPE_CALLER_SHARE_MAX * self &&
        is_spread(&shape->callers, SHAPE_CALLERS_MIN, SHAPE_SIZE_DEVIATION)) {
        return true;
    }
    switch (f->names[function]) {
    case NAME_NONE:
        return is_spread(&shape->all_callers, NAMELESS_CALLERS_MIN, NAMELESS_SIZE_DEVIATION);
    case NAME_WEAK:
        return is_spread(&shape->callers, NAMED_CALLERS_MIN, NAMED_SIZE_DEVIATION);
    default:
        return false;
    }
}

static bool mark_wrappers(struct finder *f)
{
    bool is_any = false;
    for (uint32_t i = 0; i < f->agg->function_count; i++) {
        if (is_wrapper(f, i)) {
            f->agg->functions[i].class_ = HS_FRAME_CLASS_ALLOCATOR;
            f->agg->functions[i].is_wrapper = true;
            is_any = true;
        }
    }
    return is_any;
}

/* A profile of live memory alone has no allocated totals. */
static enum hs_quantity choose_quantity(const struct hs_agg *agg)
{
    for (uint32_t i = 0; i < agg->self_count; i++) {
        if (agg->selves[i].by[HS_QUANTITY_ALLOC].bytes > 0) {
            return HS_QUANTITY_ALLOC;
        }
    }
    return HS_QUANTITY_LIVE;
}

int hs_wrappers_find(struct hs_agg *agg)
{
    struct finder f = { .agg = agg, .quantity = choose_quantity(agg) };
    size_t count = agg->function_count + 1u;
    uint32_t *stamps = calloc(count, sizeof(*stamps));
    f.names = calloc(count, sizeof(*f.names));
    f.shapes = calloc(count, sizeof(*f.shapes));
    f.outer = calloc(count, sizeof(*f.outer));
    int r = stamps && f.names && f.shapes && f.outer ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < agg->function_count && r == 0; i++) {
        const char *name = hs_profile_string(agg->profile, agg->functions[i].name);
        f.names[i] = (uint8_t)(agg->functions[i].is_heap ? NAME_OTHER : name_kind_of(name));
    }
    for (unsigned round = 0; round < ROUNDS_MAX && r == 0; round++) {
        r = measure(&f, stamps);
        if (r == 0 && !mark_wrappers(&f)) {
            break;
        }
    }
    free(stamps);
    free(f.names);
    free(f.shapes);
    free(f.outer);
    return r;
}

/* --- the wrapper of a function --- */

/* The outermost wrapper below the function after which a stack is named. */
static uint32_t wrapper_of(const struct hs_agg *agg, uint32_t leaf, uint32_t function)
{
    uint32_t wrapper = UINT32_MAX, inner;
    uint32_t user = find_user(agg, leaf, &inner);
    if (user == HS_NODE_NONE || agg->nodes[user].function != function) {
        return UINT32_MAX;
    }
    for (uint32_t n = leaf; n != user; n = agg->nodes[n].parent) {
        uint32_t id = agg->nodes[n].function;
        wrapper = agg->functions[id].is_wrapper ? id : wrapper;
    }
    return wrapper;
}

uint32_t hs_wrappers_through(const struct hs_agg *agg, uint32_t function, enum hs_view view)
{
    double *values = calloc(agg->function_count + 1u, sizeof(*values));
    double all = 0;
    uint32_t most = UINT32_MAX, inner;
    for (uint32_t i = 0; values && i < agg->self_count; i++) {
        const struct hs_agg_self *self = &agg->selves[i];
        double value = hs_view_value(view, &self->by[hs_views[view].quantity]);
        uint32_t user = find_user(agg, self->node, &inner);
        if (user == HS_NODE_NONE || agg->nodes[user].function != function) {
            continue;
        }
        uint32_t wrapper = wrapper_of(agg, self->node, function);
        all += value;
        if (wrapper != UINT32_MAX) {
            values[wrapper] += value;
            most = most == UINT32_MAX || values[wrapper] > values[most] ? wrapper : most;
        }
    }
    bool is_most = most != UINT32_MAX && values[most] > all / 2;
    free(values);
    return is_most ? most : UINT32_MAX;
}
