/*
 * libmicrohttpd, which is loaded when it is first needed.
 *
 * Linked to the executable, it would load GnuTLS and eight more libraries into every command, and
 * no command would start on a machine that lacks one of them.
 *
 * Threads   one.
 * See       docs/adr/0055-the-servers-checks.md
 */
#pragma once

#include <microhttpd.h>

/* The functions that are used. */
#define HS_MICROHTTPD_FUNCTIONS(X)                                                                 \
    X(start_daemon)                                                                                \
    X(stop_daemon)                                                                                 \
    X(run)                                                                                         \
    X(get_timeout)                                                                                 \
    X(get_daemon_info)                                                                             \
    X(get_connection_info)                                                                         \
    X(get_connection_values)                                                                       \
    X(queue_response)                                                                              \
    X(create_response_from_buffer)                                                                 \
    X(create_response_from_fd64)                                                                   \
    X(create_response_from_fd_at_offset64)                                                         \
    X(create_response_from_callback)                                                               \
    X(add_response_header)                                                                         \
    X(destroy_response)                                                                            \
    X(suspend_connection)                                                                          \
    X(resume_connection)

struct hs_microhttpd {
#define HS_MICROHTTPD_MEMBER(name) __typeof__ (&MHD_##name)(name);
    HS_MICROHTTPD_FUNCTIONS(HS_MICROHTTPD_MEMBER)
#undef HS_MICROHTTPD_MEMBER
};

/* The library; NULL: it is not installed. */
const struct hs_microhttpd *hs_microhttpd_load(void);
