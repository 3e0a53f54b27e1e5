/*
 * Checks and frees symbol tables, and has the texts of reasons. See symbol_table.h.
 */
#include "symbol/symbol_table.h"

#include <stdlib.h>

bool hs_symbol_table_is_valid(const struct hs_symbol_table *table)
{
    if (table->reason >= HS_SYMBOL_REASON_N || table->source >= HS_SYMBOL_SOURCE_N ||
        table->string_bytes == 0 || table->strings[0] != '\0' ||
        table->strings[table->string_bytes - 1] != '\0' ||
        table->detail_off >= table->string_bytes) {
        return false;
    }
    for (uint32_t i = 0; i < table->span_count; i++) {
        const struct hs_symbol_span *span = &table->spans[i];
        if (span->line_first > table->line_count ||
            span->line_count > table->line_count - span->line_first) {
            return false;
        }
    }
    for (uint32_t i = 0; i < table->line_count; i++) {
        const struct hs_symbol_line *line = &table->lines[i];
        if (line->function_off >= table->string_bytes ||
            line->system_name_off >= table->string_bytes || line->file_off >= table->string_bytes ||
            line->folded_off >= table->string_bytes) {
            return false;
        }
    }
    return true;
}

void hs_symbol_table_deinit(struct hs_symbol_table *table)
{
    free(table->spans);
    free(table->lines);
    free(table->strings);
    *table = (struct hs_symbol_table){ 0 };
}

const char *hs_symbol_reason_text(uint32_t reason)
{
    static const char *const texts[HS_SYMBOL_REASON_N] = {
        [HS_SYMBOL_REASON_NONE] = "found",
        [HS_SYMBOL_REASON_FILE_MISSING] = "no such file",
        [HS_SYMBOL_REASON_BUILD_ID_DIFFERS] = "the file is another build",
        [HS_SYMBOL_REASON_NO_SYMBOLS] = "no symbols for this code",
        [HS_SYMBOL_REASON_UNREADABLE] = "not readable as an ELF file",
        [HS_SYMBOL_REASON_NO_PERF_MAP] = "code made at run time, without a perf map",
        [HS_SYMBOL_REASON_UNSAFE_PERF_MAP] = "the perf map belongs to another user",
        [HS_SYMBOL_REASON_BROKEN] = "reading the file failed",
        [HS_SYMBOL_REASON_TOO_SLOW] = "reading the file took too long",
        [HS_SYMBOL_REASON_INTERRUPTED] = "interrupted",
        [HS_SYMBOL_REASON_NO_SERVER] = "no debuginfod server could be reached",
    };
    return reason < HS_SYMBOL_REASON_N ? texts[reason] : "unknown reason";
}
