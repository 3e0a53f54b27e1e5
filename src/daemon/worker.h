/*
 * What a forked process of the daemon does before anything else: it is not the daemon any more.
 *
 * Threads   one.
 */
#pragma once

#include "daemon/order.h"

/* Keeps these descriptors (-1: none) and the standard ones, and leaves the daemon's signals alone. */
void hs_worker_settle(int a, int b, int c);

/* The rights of the user who gave the order, for good. -errno. */
int hs_worker_give_up_rights(const struct hs_order *order);
