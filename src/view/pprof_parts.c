/*
 * See pprof_parts.h.
 */
#include "view/pprof_parts.h"

#include <string.h>

#include "rt/check.h"
#include "util/utf8.h"

struct append {
    ProtobufCBuffer base;
    struct hs_buf *out;
};

static void append(ProtobufCBuffer *base, size_t bytes, const uint8_t *data)
{
    hs_buf_add(((struct append *)base)->out, data, bytes);
}

void hs_pprof_parts_deinit(struct hs_pprof_parts *parts)
{
    hs_intern_deinit(&parts->texts);
}

void hs_pprof_put(struct hs_pprof_parts *parts, const Hs__Pprof__PprofProfile *part)
{
    struct append to = { .base = { .append = append }, .out = parts->out };
    protobuf_c_message_pack_to_buffer(&part->base, &to.base);
}

int64_t hs_pprof_text(struct hs_pprof_parts *parts, const char *text)
{
    uint32_t id = 0;
    bool is_new = false;
    if (parts->err == 0) {
        parts->err = hs_intern_put(&parts->texts, hs_intern_hash(text, strlen(text)), &id, &is_new);
    }
    HS_ASSERT(id > 0 || !is_new || text[0] == '\0');
    if (is_new) {
        struct hs_buf clean = HS_BUF_INIT;
        hs_utf8_write(&clean, text, strlen(text));
        char *strings[1] = { (char *)hs_buf_text(&clean) };
        Hs__Pprof__PprofProfile part = HS__PPROF__PPROF_PROFILE__INIT;
        part.n_string_table = 1;
        part.string_table = strings;
        hs_pprof_put(parts, &part);
        parts->err = parts->err ? parts->err : clean.err;
        hs_buf_deinit(&clean);
    }
    return id;
}
