/*
 * Finds which function a frame of another process has called, from the code before its return
 * address.
 *
 * A function that ends with a jump to an internal one (a tail call) is not on the stack. The call
 * instruction in its caller still says that it was called.
 *
 * Trust     what is read is hostile: the answer is an address, possibly a wrong one.
 * Threads   no state.
 * Fails     returns 0: cannot be determined.
 */
#pragma once

#include <stdint.h>

#include "inject/remote/remote_memory.h"

/* The address of the function that the call before `return_va` called, through the PLT if there is
 * one. */
uint64_t hs_remote_called(const struct hs_remote_memory *memory, uint64_t return_va);
