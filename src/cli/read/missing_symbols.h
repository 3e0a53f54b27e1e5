/*
 * Says which modules have no names, why, and what to do: "Could not find /lib/libfoo.so (Build ID:
 * 44b7): no such file; ...".
 *
 * Threads   main thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_missing_module {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: not recorded */
    uint32_t reason;       /* enum hs_symbol_reason */
    const char *detail;    /* the file that the reason is about */
};

/* Says it of one module. `option`: with which option the user can give another folder. */
void hs_missing_symbols_say(const struct hs_missing_module *module, const char *option);

struct hs_symbol_request;
struct hs_symbol_table;
/* The same for the result of looking a module up. */
void hs_missing_symbols_say_result(const struct hs_symbol_request *request,
                                   const struct hs_symbol_table *table, const char *option);

struct hs_symbolized;
/* Says it of the modules of a profile without any name, of a few of them in full. `name`: of the
 * file. */
void hs_missing_symbols_say_all(const struct hs_symbolized *symbolized, const char *name);
