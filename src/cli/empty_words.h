/*
 * Why nothing was recorded, and what to do: of a trace without any allocation, one sentence for each reason that it
 * knows.
 *
 * Threads   main thread only.
 * See       trace/refusal.h, which has the reasons against single processes
 */
#pragma once

#include <stdbool.h>

#include "profile/profile.h"

/* Who was asked for: "no process ASKED was ..."; e.g. "called redis". */
#define HS_EMPTY_ASKED "that was asked for"

/* Says it, as messages of the command. False: something was recorded, and nothing is said. */
bool hs_empty_words_say(const struct hs_profile *profile, const char *asked);
