/*
 * May this request be answered? The checks that keep other sites, other users and other programs
 * away from a server on loopback.
 *
 *     Host             must be the server's own address. A site whose name was made to mean
 *                      127.0.0.1 (DNS rebinding) sends its own name here.
 *     Origin           must be the server's own, or that of the one other site that may read.
 *     Sec-Fetch-Site   must be same-origin, or none (an address that the user typed or opened). A
 *                      page of another port of this machine is same-site, and is refused.
 *     the token        random, of 256 bits; in the address that the command prints, then in a
 *                      cookie; or in a header.
 *     Content-Type     of a POST must be application/json: a form of another site cannot send it.
 *
 * The first request, with the token in its address, gets the cookie and is sent on to the same
 * address without the token. A browser sends a cookie to all ports of 127.0.0.1, so the cookie's
 * value is a second secret, not the token; and it alone is worth nothing, because the checks above
 * hold for it, too, and connections of other users are closed (peer_user.h).
 *
 * Threads   pure functions, but for hs_http_secret_make().
 * See       docs/adr/0055-the-servers-checks.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http_request.h"

#define HS_HTTP_SECRET_BYTES 65 /* 256 bits in hexadecimal, and a NUL */
#define HS_HTTP_COOKIE_BYTES 32

struct hs_http_policy {
    uint16_t port;
    bool needs_token;
    char token[HS_HTTP_SECRET_BYTES];
    char cookie[HS_HTTP_SECRET_BYTES];
    char cookie_name[HS_HTTP_COOKIE_BYTES]; /* with the port: each server has its own */
    /* the one other site that may read: "https://ui.perfetto.dev"; NULL: none */
    const char *foreign_origin;
};

enum hs_http_verdict {
    HS_HTTP_ALLOWED,
    HS_HTTP_ALLOWED_BY_ADDRESS, /* the token is in the address: set the cookie */
    HS_HTTP_AMBIGUOUS,
    HS_HTTP_BAD_HOST,
    HS_HTTP_BAD_ORIGIN,
    HS_HTTP_BAD_SITE,
    HS_HTTP_NO_TOKEN,
    HS_HTTP_BAD_TYPE,
    HS_HTTP_VERDICT_N,
};

/* Why a request is refused, for the browser; NULL: it is allowed. */
extern const char *const hs_http_verdict_words[HS_HTTP_VERDICT_N];

/* Makes a policy for this port, with new secrets. 0 or -errno. */
int hs_http_policy_init(uint16_t port, bool needs_token, const char *foreign_origin,
                        struct hs_http_policy *ret_policy);

/* Makes a secret of 256 random bits. 0 or -errno. */
int hs_http_secret_make(char ret_secret[HS_HTTP_SECRET_BYTES]);

/* Compares in a time that does not depend on the secret. */
bool hs_http_secret_is(const char *secret, const char *text, size_t text_bytes);

/* Judges a request. */
enum hs_http_verdict hs_http_check(const struct hs_http_policy *policy,
                                   const struct hs_http_request *request);
