/*
 * Split units (-gsplit-dwarf): the module has a skeleton, the rest is in a .dwo file.
 *
 * libdw finds the file by the name and folder that the skeleton gives. It would open anything that
 * has that name, a named pipe too; so it is asked only when a plain file is there.
 *
 * Threads   none.
 * Fails     never: a unit whose file is not there stays a skeleton, which still has lines.
 */
#pragma once

#include <elfutils/libdw.h>

/* Replaces a skeleton's entry by that of its split unit, when it can be had. */
void hs_dwarf_split_follow(Dwarf_Die *die);
