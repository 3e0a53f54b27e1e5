/*
 * Reads Breakpad symbol files: texts in which a build of Chrome keeps the names of its functions.
 *
 *     MODULE Linux x86_64 4FBCEE4B6A5D3F9F0 app
 *     INFO CODE_ID 4BEEBC4F5D6A9F3F
 *     FILE 0 /src/main.c
 *     INLINE_ORIGIN 7 parse
 *     FUNC m 1130 2a 0 main
 *     INLINE 0 25 0 7 1134 4
 *     1130 8 12 0
 *     PUBLIC 1200 0 start
 *
 * Numbers of addresses and sizes are hexadecimal, those of lines and files decimal. A line belongs
 * to the FUNC above it, and so does an inlined call (INLINE: how many calls it lies in, line and
 * file of the call, number of the function, addresses and sizes). A PUBLIC symbol reaches to the
 * next symbol. Addresses are relative to the lowest mapped one of the module.
 *
 * Ensures   damaged lines are left out. Work is in proportion to the text.
 * Threads   pure functions.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_symbol_builder;

/* Parts of a text, which are not terminated. */
struct hs_breakpad_head {
    const char *name; /* of the module, without a folder */
    size_t name_bytes;
    const char *module_id; /* the first 16 bytes of the build id as a GUID, and an age */
    size_t module_id_bytes;
    const char *code_id;  /* the build id in hexadecimal digits */
    size_t code_id_bytes; /* 0: unknown */
};

/* Reads the lines in front of the first FILE, FUNC or PUBLIC. False: this is no symbol file. */
bool hs_breakpad_head(const char *text, size_t bytes, struct hs_breakpad_head *ret_head);

/* Fills the builder with the functions and lines of its addresses. `base_sva` is the link-time
 * address of the module's lowest mapped one: 0, unless it is a program that runs at a fixed place.
 * 0 or -ENOMEM. */
int hs_breakpad_names(struct hs_symbol_builder *builder, uint64_t base_sva, const char *text,
                      size_t bytes);
