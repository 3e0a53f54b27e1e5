/*
 * Finds the route of a request: see http_route.h.
 */
#include "http/http_route.h"

#include <string.h>

const struct hs_http_route *hs_http_route_find(const struct hs_http_routes *routes,
                                               const struct hs_http_request *request,
                                               bool *ret_is_method)
{
    *ret_is_method = false;
    for (size_t i = 0; i < routes->count; i++) {
        if (strcmp(routes->items[i].path, request->path) == 0) {
            if (routes->items[i].method == request->method) {
                return &routes->items[i];
            }
            *ret_is_method = true;
        }
    }
    return NULL;
}
