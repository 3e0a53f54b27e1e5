/*
 * Follows split units (-gsplit-dwarf): the module has a skeleton, the rest is in a .dwo file.
 *
 * libdw finds the file by the name and folder in the skeleton. It would open anything with that
 * name, even a named pipe; it is therefore called only when a plain file is there.
 *
 * Threads   none.
 * Fails     never: a unit whose file is missing stays a skeleton, which still has lines.
 */
#pragma once

#include <elfutils/libdw.h>

/* Replaces the entry of a skeleton by that of its split unit, if that is available. */
void hs_dwarf_split_follow(Dwarf_Die *die);
