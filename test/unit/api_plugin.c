/* A library that has callbacks, for test_api_callback.c. PLUGIN_CODE is in its code, so libraries
 * with different numbers differ, and have all functions at the same offsets. */
#include <stdint.h>

void plugin_on_enabled(void *data, uint64_t interval_bytes);
int plugin_code(void);

int plugin_code(void)
{
    return PLUGIN_CODE;
}

void plugin_on_enabled(void *data, uint64_t interval_bytes)
{
    (void)interval_bytes;
    ++*(int *)data;
}
