/*
 * A look at the processes that `attach` was asked for by pid, before any of them is touched.
 *
 * See       collect/eligibility.h
 */
#pragma once

#include <stdbool.h>

#include "session/session.h"

/* Whoever cannot be attached to is told, and why; false if there is one. Those named otherwise are told one by one,
 * later. */
bool hs_attach_check(const struct hs_session_settings *settings);
