/*
 * Counts stacks whose middle is missing.
 *
 * When a stack is deeper than a recording keeps, the frames in its middle are left out, and a
 * marker stands in their place. Stacks that differ only in the missing part are one stack. The
 * number of bytes allocated through such stacks is reported with the other losses of frames.
 *
 * Threads   as builder.h.
 * Fails     -ENOMEM; then nothing is counted.
 */
#pragma once

/* The marker's name, as trace/writer_intern.c writes it. */
#define HS_CUT_STACK_NAME "[stack cut]"

struct hs_builder;

/* Adds the loss to the profile. Call it when the builder has all dumps. */
int hs_profile_count_cut_stacks(struct hs_builder *builder);
