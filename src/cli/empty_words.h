/*
 * Prints why nothing was recorded, and what to do: for a trace without any allocation, one sentence
 * for each reason that the trace contains.
 *
 * Threads   main thread only.
 * See       trace/refusal.h, which has the reasons for refusing single processes
 */
#pragma once

#include <stdbool.h>

#include "profile/model/profile.h"

/* The processes that were asked for, as part of "no process ASKED ran ...": "called redis", or
 * this. */
#define HS_EMPTY_ASKED "that was asked for"

/* Prints the reasons as messages. False: something was recorded, and nothing is printed. */
bool hs_empty_words_say(const struct hs_profile *profile, const char *asked);
