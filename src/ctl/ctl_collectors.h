/*
 * Finds commands that record processes themselves (run, attach), by the abstract names of their
 * sockets, which the kernel lists.
 *
 * Any process may have a socket of such a name. The connection tells which process is behind it
 * (hs_ctl_socket_peer). Only sockets of heapscope's own network namespace are listed, and only they
 * can be reached.
 *
 * Threads   none.
 * Fails     -errno: there is no such list.
 * See       collect/listen.h, unix(7)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fmt/ctl_layout.h"

#define HS_CTL_COLLECTORS_MAX 256

/* Is this line of /proc/net/unix about such a socket? If so, *ret_name is its name, without '@'. */
bool hs_ctl_collector_parse(const char *line, char ret_name[HS_CTL_NAME_MAX + 1]);

/* Lists the names of all such sockets. Returns how many, at most HS_CTL_COLLECTORS_MAX, or
 * -errno. */
int hs_ctl_collectors_find(char (*ret_names)[HS_CTL_NAME_MAX + 1]);

/* Connects to the socket of this name, without blocking. The descriptor, or -errno; -EAGAIN: the
 * socket's queue is full. */
int hs_ctl_collector_connect(const char *name);
