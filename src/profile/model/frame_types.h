/*
 * Types of blocks by the frames of their stacks: storage of containers and objects of smart
 * pointers that the memory of the process did not tell.
 *
 * A part keeps the type that was read in memory, with one exception: the buffer of a container
 * begins with an object of type T, and was read as T; its frames tell that it is T[]. A type that
 * the program gave with its report stays.
 *
 * Requires  names of frames are in the profile.
 * Threads   one.
 * Fails     -ENOMEM; some parts and blocks may have no such type then.
 */
#pragma once

#include "profile/model/profile.h"

/* Fills in the types of parts and of listed blocks. Does nothing in dumps whose recording left
 * types out. */
int hs_frame_types_apply(struct hs_profile *profile);
