/*
 * See page_names.h.
 */
#include "page/page_names.h"

#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/array.h"
#include "util/json.h"

void hs_page_names_init(struct hs_page_names *names)
{
    *names = (struct hs_page_names){ 0 };
    uint32_t first = hs_page_names_put(names, "");
    HS_ASSERT(first == 0);
    (void)first;
}

void hs_page_names_deinit(struct hs_page_names *names)
{
    hs_intern_deinit(&names->ids);
    hs_buf_deinit(&names->text);
    free(names->offs);
    names->offs = NULL;
}

uint32_t hs_page_names_put(struct hs_page_names *names, const char *text)
{
    size_t bytes = strlen(text);
    uint32_t idx = 0;
    bool is_new = false;
    if (names->err < 0) {
        return 0;
    }
    int err = hs_array_reserve(&names->offs, &names->capacity, (size_t)names->ids.count + 1,
                               sizeof(*names->offs));
    err = err ? err : hs_intern_put(&names->ids, hs_intern_hash(text, bytes), &idx, &is_new);
    if (err == 0 && is_new) {
        names->offs[idx] = names->text.bytes;
        hs_buf_add(&names->text, text, bytes + 1);
        err = names->text.err;
    }
    names->err = err;
    return err == 0 ? idx : 0;
}

uint32_t hs_page_names_take(struct hs_page_names *names, struct hs_buf *buf)
{
    uint32_t idx = hs_page_names_put(names, hs_buf_text(buf));
    names->err = names->err ? names->err : buf->err;
    hs_buf_clear(buf);
    return idx;
}

void hs_page_names_write(const struct hs_page_names *names, struct hs_json *json)
{
    hs_json_open_inline(json, '[');
    for (uint32_t i = 0; i < names->ids.count; i++) {
        hs_json_string(json, hs_page_names_get(names, i));
    }
    hs_json_close(json, ']');
}
