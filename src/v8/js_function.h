/*
 * JavaScript functions: from the function object in a stack frame to name, file and line.
 *
 * The garbage collector moves function objects and frees them, and the same address may be another
 * function's afterwards. So an address does not identify a function. V8 numbers the scripts of an
 * isolate (its heap and all that runs in it) and the functions of a script, and never gives a
 * number of a script again: with them, what two references lead to can be compared.
 *
 * Trust     whatever is read may be anything: see v8_object.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "v8/v8_object.h"

#define HS_JS_NAME_BYTES 511U
#define HS_JS_FILE_BYTES 4095U

/* Words that are equal for the same function of an isolate, and only for it, as long as V8 has not
 * moved what is behind them. */
struct hs_js_identity {
    uint64_t shared; /* what all function objects of one function share: V8's SharedFunctionInfo */
    uint64_t shared_map;
    uint64_t name; /* a string, or the function's scope */
    uint64_t script;
    uint64_t script_map;
    uint64_t script_name;
    uint64_t script_number;
    uint64_t number; /* of the function in the script */
};

/* What a function is called, and where it begins. */
struct hs_js_name {
    char function[HS_JS_NAME_BYTES + 1];
    char file[HS_JS_FILE_BYTES + 1];
    uint32_t function_bytes; /* 0: it has no name */
    uint32_t file_bytes;     /* 0: unknown */
    uint32_t line;           /* 0: unknown */
};

/* Does this word of a frame refer to a context, as in a frame of a JavaScript function? */
bool hs_js_is_context(const struct hs_v8 *v8, uint64_t word);

/* Reads what identifies the function that a word refers to. Nothing is checked: if the identity is
 * that of a function that hs_js_function_read has read, it is that function. */
bool hs_js_function_identify(const struct hs_v8 *v8, uint64_t function,
                             struct hs_js_identity *ret_identity);

/* Is `identity`, which hs_js_function_identify has read of this word, still its identity? The same
 * memory must be readable, at its addresses: it is read without asking. False, too, where an object
 * has been moved. */
bool hs_js_function_is(const struct hs_v8_layout *layout, uint64_t function,
                       const struct hs_js_identity *identity);

/* Checks that `function` is a function, and reads name, file and line. False: it is none. */
bool hs_js_function_read(const struct hs_v8 *v8, uint64_t function,
                         const struct hs_js_identity *identity, struct hs_js_name *ret_name);
