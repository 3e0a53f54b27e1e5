/*
 * See nameless_reason.h.
 */
#include "profile/model/nameless_reason.h"

#include "symbol/symbol_table.h"
#include "util/buf.h"

/* What the recording found. The reasons of code made at run time do not come here. */
static void write_recorded(const struct hs_profile_module *module, const char *detail,
                           struct hs_buf *buf)
{
    switch (module->nameless_reason) {
    case HS_SYMBOL_REASON_NO_SYMBOLS:
        hs_buf_str(buf, "no symbol that was found when they were recorded covers them (a "
                        "stripped file has only those of exported functions)");
        break;
    case HS_SYMBOL_REASON_FILE_MISSING:
        hs_buf_str(buf, "when they were recorded, the file was not there any more");
        break;
    case HS_SYMBOL_REASON_BUILD_ID_DIFFERS:
        hs_buf_str(buf, "when they were recorded, only a file of another build was there");
        break;
    default:
        hs_buf_printf(buf, "when they were recorded: %s",
                      hs_symbol_reason_text(module->nameless_reason));
        break;
    }
    if (detail[0] != '\0' && module->nameless_reason != HS_SYMBOL_REASON_NO_SYMBOLS) {
        hs_buf_printf(buf, " (%s)", detail);
    }
}

void hs_nameless_write_reason(const struct hs_profile *profile,
                              const struct hs_profile_module *module, struct hs_buf *buf)
{
    const char *id = hs_profile_string(profile, module->build_id_hex);
    if (module->nameless_reason == HS_SYMBOL_REASON_NONE) {
        hs_buf_str(buf, module->is_symbolized
                            ? "no symbol that was found covers them, because the file is stripped: "
                              "install its debug symbols before recording, or name their folder "
                              "in PERFETTO_BINARY_PATH"
                            : "no symbols were found: the file is stripped, or it is not here any "
                              "more; name the folder of its debug symbols in "
                              "PERFETTO_BINARY_PATH");
        return;
    }
    write_recorded(module, hs_profile_string(profile, module->nameless_detail), buf);
    hs_buf_str(buf, ". 'heapscope symbolize' adds the names where its debug symbols are");
    if (id[0] != '\0') {
        hs_buf_printf(buf, " (Build ID: %s)", id);
    }
}

bool hs_nameless_has_same_reason(const struct hs_profile_module *a,
                                 const struct hs_profile_module *b)
{
    if (a->nameless_reason != b->nameless_reason) {
        return false;
    }
    switch (a->nameless_reason) {
    case HS_SYMBOL_REASON_NONE:
        return a->is_symbolized == b->is_symbolized;
    case HS_SYMBOL_REASON_NO_SYMBOLS:
        return true;
    default:
        return a->nameless_detail == b->nameless_detail;
    }
}

const char *hs_nameless_reason_name(uint32_t reason)
{
    static const char *const names[HS_SYMBOL_REASON_N] = {
        [HS_SYMBOL_REASON_NONE] = "none",
        [HS_SYMBOL_REASON_FILE_MISSING] = "absent",
        [HS_SYMBOL_REASON_BUILD_ID_DIFFERS] = "other_build",
        [HS_SYMBOL_REASON_NO_SYMBOLS] = "no_symbols",
        [HS_SYMBOL_REASON_UNREADABLE] = "unreadable",
        [HS_SYMBOL_REASON_NO_PERF_MAP] = "no_perf_map",
        [HS_SYMBOL_REASON_UNSAFE_PERF_MAP] = "unsafe_perf_map",
        [HS_SYMBOL_REASON_BROKEN] = "broken",
        [HS_SYMBOL_REASON_TOO_SLOW] = "too_slow",
        [HS_SYMBOL_REASON_INTERRUPTED] = "interrupted",
        [HS_SYMBOL_REASON_NO_SERVER] = "no_server",
    };
    return reason < HS_SYMBOL_REASON_N ? names[reason] : "unknown";
}

const char *hs_nameless_reason_text(uint32_t reason)
{
    return hs_symbol_reason_text(reason);
}
