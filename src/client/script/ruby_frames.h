/*
 * The frames of a Ruby script, as caller_locations() gives them. A method that is written in C has
 * a frame with its name and without a file.
 *
 * The execution context of the thread (rb_execution_context_t) has the innermost of the control
 * frames, which lie one behind the other. A frame with VM_FRAME_FLAG_FINISH was begun by C code, in
 * a run loop (rb_vm_exec) of its own. A frame of the script has its code (iseq), whose positions
 * have lines: a succinct index leads from a position to its entry.
 *
 * Offsets are those of Ruby 3.1. The library's own version selects them, and each step proves them:
 * the context belongs to its thread, which belongs to it; a frame's code is an object of that kind,
 * its position lies inside, and its names are strings.
 *
 * See       script_frames.h
 */
#pragma once

#include "client/script/script_frames.h"

/* What is known of a Ruby in this process. */
struct hs_ruby {
    uint64_t symbols_va; /* global_symbols; 0: methods written in C have no names */
};

/* The bytes of code in which hs_ruby_find_symbols() looks. */
#define HS_RUBY_CODE_BYTES 192U

/* Is the version that begins so (as "3.1.") known? */
bool hs_ruby_is_known(const char version[4]);

/* Finds global_symbols, which no symbol table has: the instructions of rb_id2str() read it. 0: they
 * are others than we know. */
uint64_t hs_ruby_find_symbols(uint64_t id2str_va, struct hs_script_memory *memory);

/* Reports the frames of the thread whose execution context (ruby_current_ec) is at `ec_va`. */
enum hs_script_end hs_ruby_read(const struct hs_ruby *ruby, uint64_t ec_va,
                                struct hs_script_memory *memory, const struct hs_script_sink *sink);

/* Describes one of them; `roots` is a struct hs_ruby. A method written in C without a name is not
 * shown. */
hs_script_describe_fn hs_ruby_describe;
