/*
 * Which function a frame of another process has called, by the code before its return address.
 *
 * A function that ends with a jump to an internal one is not on the stack; what its caller called still says that it was
 * there.
 *
 * Trust     what is read is hostile: the answer is an address, perhaps a wrong one.
 * Threads   no state.
 * Fails     0: not to be told.
 */
#pragma once

#include <stdint.h>

#include "inject/remote_memory.h"

uint64_t hs_remote_called(const struct hs_remote_memory *memory, uint64_t return_va);
