/*
 * Beginning and ending scopes without a call, for programs that link the library: heapscope.h
 * includes this file unless HEAPSCOPE_WEAK is defined. Each name stands for an inline function that
 * does what the library's function of this name does, to the same variable.
 *
 * The depth is raised first: see src/api/api_scope.c.
 */
#pragma once

/* The stack of open scopes of the calling thread. For the inline functions only. */
struct heapscope_scopes {
    uint32_t depth;
    uint32_t room;
    uint32_t *ids;
};
extern HEAPSCOPE_API __thread struct heapscope_scopes heapscope_scopes_v1
    __attribute__((tls_model("initial-exec")));

static inline __attribute__((unused)) uint32_t heapscope_inline_scope_enter(uint32_t name_id)
{
    struct heapscope_scopes *scopes = &heapscope_scopes_v1;
    uint32_t depth = scopes->depth;
    scopes->depth = depth + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(depth >= scopes->room, 0)) {
        scopes->depth = depth;
        return heapscope_scope_enter(name_id);
    }
    scopes->ids[depth] = name_id;
    return depth;
}
static inline __attribute__((unused)) void heapscope_inline_scope_end(void)
{
    struct heapscope_scopes *scopes = &heapscope_scopes_v1;
    if (__builtin_expect(scopes->depth > 0, 1)) {
        scopes->depth--;
    }
}
static inline __attribute__((unused)) void heapscope_inline_scope_end_to(uint32_t depth)
{
    struct heapscope_scopes *scopes = &heapscope_scopes_v1;
    if (__builtin_expect(depth < scopes->depth, 1)) {
        scopes->depth = depth;
    }
}
static inline __attribute__((unused)) uint32_t heapscope_inline_scope_enter_at(uint32_t *site,
                                                                               const char *name)
{
    uint32_t name_id = __atomic_load_n(site, __ATOMIC_RELAXED);
    if (__builtin_expect(name_id == 0, 0)) {
        name_id = heapscope_scope_name(name);
        __atomic_store_n(site, name_id, __ATOMIC_RELAXED);
    }
    return heapscope_inline_scope_enter(name_id);
}
/* A name that is a constant is looked up once at each place of the program. */
#define heapscope_inline_scope_begin(name)                                                         \
    __extension__({                                                                                \
        static uint32_t heapscope_site_;                                                           \
        __builtin_constant_p(name) ? heapscope_inline_scope_enter_at(&heapscope_site_, (name))     \
                                   : (heapscope_scope_begin)(name);                                \
    })

/* The library's functions can still be called, by a name in parentheses. */
#define heapscope_scope_begin(name)   heapscope_inline_scope_begin(name)
#define heapscope_scope_enter(id)     heapscope_inline_scope_enter(id)
#define heapscope_scope_end()         heapscope_inline_scope_end()
#define heapscope_scope_end_to(depth) heapscope_inline_scope_end_to(depth)
