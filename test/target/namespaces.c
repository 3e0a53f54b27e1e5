/*
 * Opens a plugin in a linker namespace of its own, where the plugin has its own C library and
 * allocator: namespaces PLUGIN.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "truth.h"

SITE(site_main, malloc(n))

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) : NULL;
    void *(*run)(size_t) = plugin ? (void *(*)(size_t))dlsym(plugin, "plugin_run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    site_main(100);
    run(1 << 20);
    return 0;
}
