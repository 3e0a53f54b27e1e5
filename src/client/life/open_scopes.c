/*
 * From a thread's stack of open scopes to an id of the region. See open_scopes.h.
 */
#include "client/life/open_scopes.h"

#include <stdbool.h>
#include <stddef.h>

#include "client/life/api_table.h"
#include "client/tables/life_state.h"
#include "client/tables/scopes.h"
#include "client/thread/thread.h"
#include "fmt/api_scopes.h"
#include "rt/atomic.h"

/* The id in the region of the scope with the library's name `name_id` in `parent`. */
static uint32_t add_scope(struct hs_thread *thread, const struct hs_api_scope_names_v1 *names,
                          uint32_t parent, uint32_t name_id)
{
    struct hs_scope_text text = { NULL, 0, 0 };
    if (name_id == 0 || parent == HS_SCOPE_OTHER) {
        return parent;
    }
    if (name_id < HS_API_SCOPE_NAMES) {
        const struct hs_api_scope_name_v1 *name = &names->names[name_id];
        /* ORDER scope-name: the text of a name that has a hash. */
        text.hash = hs_load_acquire(&name->hash);
        text.bytes = name->bytes < HS_API_SCOPE_NAME_BYTES ? name->bytes : 0;
        text.text = names->text + name->text_off % HS_API_SCOPE_TEXT_BYTES;
    }
    uint32_t id = text.hash == 0 ? HS_SCOPE_OTHER : hs_scope_intern(parent, &text);
    if (id == HS_SCOPE_OTHER || name_id == HS_API_SCOPE_OTHER) {
        thread->block->lost_scope_count++;
    }
    return id;
}

uint32_t hs_open_scopes_find(struct hs_thread *thread)
{
    uint32_t id = 0;
    bool is_any_open = false;
    struct hs_api_v1 *table;
    for (unsigned i = 0; (table = hs_api_table_at(i)) != NULL; i++) {
        /* ORDER api-calls: what the library has set before. */
        hs_api_scopes_fn *scopes_of_thread = hs_load_acquire(&table->scopes);
        struct hs_api_scopes_v1 *scopes = scopes_of_thread ? scopes_of_thread() : NULL;
        if (!scopes || scopes->depth == 0) {
            if (scopes) {
                scopes->room = 0;
            }
            continue;
        }
        is_any_open = true;
        /* ORDER scope-names: the table's first name. */
        const struct hs_api_scope_names_v1 *names = hs_load_acquire(&table->scope_names);
        uint32_t count = scopes->depth < HS_API_SCOPE_DEPTH ? scopes->depth : HS_API_SCOPE_DEPTH;
        for (uint32_t k = 0; names && scopes->ids && k < count; k++) {
            id = add_scope(thread, names, id, scopes->ids[k]);
        }
    }
    thread->must_look = is_any_open || hs_life_state_is_timed();
    return id;
}

void hs_open_scopes_note(void)
{
    struct hs_thread *thread = hs_tls.self;
    if (thread) {
        thread->must_look = true;
    }
}
