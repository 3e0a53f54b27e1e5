/*
 * A plugin that allocates. It is compiled several times, with -DSITE_NAME=site_plugin_a and so on,
 * into libraries of the same layout, which the loader puts at the same address one after the other.
 */
#include "truth.h"

SITE(SITE_NAME, malloc(n))

void *plugin_run(size_t n);
void *plugin_run(size_t n)
{
    void *p = SITE_NAME(n);
    SITE_FREE(SITE_NAME, p, n);
    return SITE_NAME(n);
}
