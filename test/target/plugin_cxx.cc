/*
 * A C++ plugin of a C program: opened with RTLD_LOCAL, it loads its own C++ runtime after the
 * start.
 */
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "truth.h"

SITE(site_plugin_new, ::operator new(n))
SITE(site_plugin_array, ::operator new[](n))
SITE(site_plugin_nothrow, ::operator new(n, std::nothrow))
SITE(site_plugin_aligned, ::operator new(n, std::align_val_t(64)))

extern "C" void *plugin_run(size_t n)
{
    for (int i = 0; i < 10; i++) {
        void *p = site_plugin_new(n);
        SITE_LOST(site_plugin_new, n);
        ::operator delete(p);
        p = site_plugin_array(n);
        SITE_LOST(site_plugin_array, n);
        ::operator delete[](p, n);
        p = site_plugin_aligned(n);
        SITE_LOST(site_plugin_aligned, n);
        ::operator delete(p, std::align_val_t(64));
    }
    site_plugin_array(n);
    site_plugin_nothrow(n);
    try {
        std::vector<std::string> v(3, std::string(100, 'x'));
        throw std::runtime_error(v.at(7));
    } catch (const std::exception &) {
    }
    return site_plugin_new(n);
}
