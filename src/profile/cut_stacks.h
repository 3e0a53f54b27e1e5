/*
 * Counting stacks without their middle.
 *
 * Of a stack that is deeper than is kept, the frames in the middle are left out, and a marker stands in their place. Stacks
 * that differ only there are one. How much was allocated through them is told with the other losses of frames.
 *
 * Threads   those of the builder.
 * Fails     -ENOMEM; nothing is counted then.
 */
#pragma once

/* The marker's name: as trace/writer_intern.c writes it. */
#define HS_CUT_STACK_NAME "[stack cut]"

struct hs_builder;

/* When all dumps are there. */
int hs_profile_count_cut_stacks(struct hs_builder *builder);
