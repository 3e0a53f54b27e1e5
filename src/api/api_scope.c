/*
 * Scopes: each thread has a stack of the ids of their names.
 *
 * The stack is in a page that the thread gets at its first begin; static thread-local storage,
 * which is scarce, has only the depth and the page's address. The page also remembers which id the
 * text at an address had, or the label at two; the text is compared again at each use, because the
 * program may have changed it.
 *
 * A begin raises the depth first. A signal handler that comes in between, and whose sample finds
 * the depth 0, has set `room` to 0: the begin then sees that. One that finds the new depth sees the
 * id that stood there before, and whatever it writes there is overwritten by the begin.
 *
 * Ensures   nothing here locks or changes errno. Without memory, scopes are counted and not
 *           recorded.
 * Threads   any; also in signal handlers.
 * See       fmt/api_scopes.h
 */
#include <heapscope/heapscope.h>
#undef heapscope_scope_begin
#undef heapscope_scope_enter
#undef heapscope_scope_end
#undef heapscope_scope_end_to

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "api/heap_table.h"
#include "api/scope_names.h"
#include "rt/check.h"
#include "rt/sys.h"

_Static_assert(HEAPSCOPE_SCOPE_DEPTH == HS_API_SCOPE_DEPTH, "the header's limit");
_Static_assert(HEAPSCOPE_SCOPE_NAME_BYTES == HS_API_SCOPE_NAME_BYTES, "the header's limit");

#define CACHED_TEXTS  128U
#define CACHED_LABELS 32U

/* The id that the text at an address had. */
struct cached_text {
    const char *text; /* NULL: none */
    uint32_t id;
};

/* The id of the label whose key and value were at two addresses. */
struct cached_label {
    const char *key; /* NULL: none */
    const char *value;
    uint32_t id;
};

/* A thread's page. */
struct scope_page {
    uint32_t ids[HS_API_SCOPE_DEPTH];
    struct cached_text cache[CACHED_TEXTS];
    struct cached_label labels[CACHED_LABELS];
};

_Static_assert(sizeof(struct heapscope_scopes) == sizeof(struct hs_api_scopes_v1) &&
                   offsetof(struct heapscope_scopes, ids) == offsetof(struct hs_api_scopes_v1, ids),
               "one layout");
_Static_assert(sizeof(struct scope_page) <= 4096, "one page");

static _Thread_local struct hs_api_scopes_v1 scopes __attribute__((tls_model("initial-exec")));
extern HS_EXPORT __thread struct heapscope_scopes heapscope_scopes_v1
    __attribute__((alias("scopes"), tls_model("initial-exec")));
static pthread_key_t page_key;
static bool has_page_key;

static struct hs_api_scopes_v1 *scopes_of_thread(void)
{
    return &scopes;
}

/* Called by the C library when a thread ends. */
static void release_page(void *page)
{
    scopes = (struct hs_api_scopes_v1){ 0 };
    hs_signal_fence();
    hs_sys_munmap(page, sizeof(struct scope_page));
}

__attribute__((constructor)) static void begin_scopes(void)
{
    has_page_key = pthread_key_create(&page_key, release_page) == 0;
    /* ORDER api-calls: what this function has set, before the client can ask for it. */
    hs_store_release(&hs_heap_table.scopes, scopes_of_thread);
}

/* Gives this thread its page. */
static void make_page(void)
{
    long va = hs_sys_mmap(NULL, sizeof(struct scope_page), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (va < 0 && va > -4096) {
        return;
    }
    scopes.ids = ((struct scope_page *)va)->ids;
    /* Without a key, the page stays when the thread ends. */
    if (has_page_key) {
        pthread_setspecific(page_key, (void *)va);
    }
}

/* Tells the client, which may not look at this thread's stack otherwise. */
static void tell_client(void)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    if (calls && calls->bytes > offsetof(struct hs_api_calls_v1, note_scopes) &&
        calls->note_scopes) {
        calls->note_scopes();
    }
}

/* Stores the id of the scope at `depth`, if there is an element for it. */
static HS_COLD uint32_t begin_slowly(uint32_t depth, uint32_t id)
{
    if (!scopes.ids) {
        make_page();
    }
    if (depth < HS_API_SCOPE_DEPTH && scopes.ids) {
        scopes.ids[depth] = id;
        scopes.room = HS_API_SCOPE_DEPTH;
        hs_signal_fence();
        tell_client();
    }
    return depth;
}

uint32_t heapscope_scope_name(const char *name)
{
    return hs_scope_names_find(name);
}

uint32_t heapscope_label_name(const char *key, const char *value)
{
    return hs_scope_names_find_label(key, value);
}

uint32_t heapscope_scope_depth(void)
{
    return scopes.depth;
}

/* The text is not in the cache, or is another one by now. */
static HS_COLD uint32_t find_again(struct cached_text *cached, const char *name)
{
    uint32_t id = hs_scope_names_find(name);
    if (cached) {
        /* A signal handler in between sees a text with the id of another one, and compares. */
        cached->id = id != 0 ? id : HS_API_SCOPE_OTHER;
        hs_signal_fence();
        cached->text = name;
    }
    return id;
}

/* The same for a label. */
static HS_COLD uint32_t find_label_again(struct cached_label *cached, const char *key,
                                         const char *value)
{
    uint32_t id = hs_scope_names_find_label(key, value);
    if (cached && key && value) {
        cached->key = NULL; /* a signal handler in between finds no label */
        hs_signal_fence();
        cached->value = value;
        cached->id = id != 0 ? id : HS_API_SCOPE_OTHER;
        hs_signal_fence();
        cached->key = key;
    }
    return id;
}

/* --- hot -------------------------------------------------------------------------------------- */

uint32_t heapscope_scope_enter(uint32_t id)
{
    struct hs_api_scopes_v1 *own = &scopes;
    uint32_t depth = own->depth;
    own->depth = depth + 1;
    hs_signal_fence();
    if (hs_unlikely(depth >= own->room)) {
        return begin_slowly(depth, id);
    }
    own->ids[depth] = id;
    return depth;
}

uint32_t heapscope_scope_begin(const char *name)
{
    struct cached_text *cached = NULL;
    if (hs_likely(scopes.ids != NULL)) {
        struct scope_page *page = (struct scope_page *)(void *)scopes.ids;
        uintptr_t va = (uintptr_t)name;
        cached = &page->cache[(va ^ va >> 7) % CACHED_TEXTS];
        if (hs_likely(cached->text == name) && hs_likely(name != NULL) &&
            hs_likely(hs_scope_names_is(cached->id, name))) {
            return heapscope_scope_enter(cached->id);
        }
    }
    return heapscope_scope_enter(find_again(cached, name));
}

uint32_t heapscope_label_begin(const char *key, const char *value)
{
    struct cached_label *cached = NULL;
    if (hs_likely(scopes.ids != NULL)) {
        struct scope_page *page = (struct scope_page *)(void *)scopes.ids;
        uintptr_t va = (uintptr_t)key + (uintptr_t)value * 5;
        cached = &page->labels[(va ^ va >> 5) % CACHED_LABELS];
        if (hs_likely(cached->key == key) && hs_likely(cached->value == value) &&
            hs_likely(key != NULL) && hs_likely(hs_scope_names_is_label(cached->id, key, value))) {
            return heapscope_scope_enter(cached->id);
        }
    }
    return heapscope_scope_enter(find_label_again(cached, key, value));
}

void heapscope_scope_end(void)
{
    uint32_t depth = scopes.depth;
    if (hs_likely(depth > 0)) {
        scopes.depth = depth - 1;
    }
}

void heapscope_scope_end_to(uint32_t depth)
{
    if (hs_likely(depth < scopes.depth)) {
        scopes.depth = depth;
    }
}
