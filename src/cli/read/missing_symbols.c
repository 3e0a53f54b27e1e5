/*
 * See missing_symbols.h.
 */
#include "cli/read/missing_symbols.h"

#include <string.h>

#include "cli/message.h"
#include "profile/model/frame_class.h"
#include "profile/model/symbolize.h"
#include "symbol/symbol_request.h"
#include "symbol/symbol_table.h"
#include "util/buf.h"

/* So many modules are named with the reason; `symbolize` lists all. */
#define MODULES_TOLD 4U
/* A longer build id is none; Breakpad's, which are texts, have this length. */
#define BREAKPAD_ID_BYTES 33U

static void write_id(const struct hs_missing_module *module, struct hs_buf *text)
{
    if (module->build_id_bytes == 0) {
        return;
    }
    hs_buf_str(text, " (Build ID: ");
    for (size_t i = 0; i < module->build_id_bytes; i++) {
        if (module->build_id_bytes == BREAKPAD_ID_BYTES) {
            hs_buf_char(text, (char)module->build_id[i]);
        } else {
            hs_buf_printf(text, "%02x", module->build_id[i]);
        }
    }
    hs_buf_char(text, ')');
}

static void write_reason(const struct hs_missing_module *module, const char *option,
                         struct hs_buf *text)
{
    const char *why = hs_symbol_reason_text(module->reason);
    switch (module->reason) {
    case HS_SYMBOL_REASON_FILE_MISSING:
        hs_buf_printf(text,
                      "file not found, here or in the given folders; give the folder with this "
                      "file, or with its debug file, as %s",
                      option);
        break;
    case HS_SYMBOL_REASON_BUILD_ID_DIFFERS:
        hs_buf_printf(
            text,
            "%s is of another build; give the folder with the file of this build, or with "
            "its debug file, as %s",
            module->detail, option);
        break;
    case HS_SYMBOL_REASON_NO_SYMBOLS:
        hs_buf_printf(text,
                      "%s; the file is stripped: install its debug symbols, or give the folder "
                      "with its debug file as %s",
                      why, option);
        break;
    case HS_SYMBOL_REASON_UNREADABLE:
        hs_buf_printf(text, "%s; look at its permissions, or give the folder with a copy as %s",
                      why, option);
        break;
    case HS_SYMBOL_REASON_NO_SERVER:
        hs_buf_printf(text,
                      "no file here has its names, and %s: look at DEBUGINFOD_URLS and the "
                      "network",
                      why);
        break;
    default:
        hs_buf_str(text, why);
        break;
    }
}

void hs_missing_symbols_say(const struct hs_missing_module *module, const char *option)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "Could not find %s", module->path);
    write_id(module, &text);
    hs_buf_str(&text, ": ");
    write_reason(module, option, &text);
    hs_message("%s", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

void hs_missing_symbols_say_result(const struct hs_symbol_request *request,
                                   const struct hs_symbol_table *table, const char *option)
{
    const struct hs_missing_module missing = {
        .path = request->path,
        .build_id = request->build_id,
        .build_id_bytes = request->build_id_bytes,
        .reason = table->reason,
        .detail = hs_symbol_string(table, table->detail_off),
    };
    hs_missing_symbols_say(&missing, option);
}

static bool is_missing(const struct hs_symbolized_module *module)
{
    return module->named_count == 0 && module->nameless_count > 0 && module->path[0] == '/' &&
           !hs_frame_is_recorder("", module->path); /* no stack shows its functions */
}

void hs_missing_symbols_say_all(const struct hs_symbolized *symbolized, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < symbolized->count; i++) {
        const struct hs_symbolized_module *module = &symbolized->modules[i];
        if (is_missing(module) && count++ < MODULES_TOLD) {
            const struct hs_missing_module missing = {
                .path = module->path,
                .build_id = module->build_id,
                .build_id_bytes = module->build_id_bytes,
                .reason = module->reason,
                .detail = module->detail,
            };
            hs_missing_symbols_say(&missing, "--symbols");
        }
    }
    if (count > MODULES_TOLD) {
        hs_message("%zu more modules have no names: 'heapscope symbolize %s' lists them",
                   count - MODULES_TOLD, name);
    }
}
