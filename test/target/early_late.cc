/*
 * Allocates before main and after it: in constructors of every priority, thread_local objects, exit
 * handlers, destructors, and in a library that is preloaded or opened (early_late.cc with
 * -DLIBRARY).
 */
#include <cstdio>
#include <pthread.h>
#include <thread>

#include "truth.h"

#ifdef LIBRARY /* site names of the library */
#define site_constructor       site_library_constructor
#define site_first_constructor site_library_first_constructor
#define site_destructor        site_library_destructor
#define site_static_object     site_library_static_object
#define site_static_object_end site_library_static_object_end
#endif

SITE(site_constructor, malloc(n))
SITE(site_first_constructor, malloc(n))
SITE(site_destructor, malloc(n))
SITE(site_static_object, ::operator new(n))
SITE(site_static_object_end, malloc(n))
SITE(site_atexit, malloc(n))
SITE(site_thread_object, malloc(n))
SITE(site_thread_object_end, malloc(n))
SITE(site_main, malloc(n))

static void *first;

__attribute__((constructor(101))) static void first_constructor()
{
    truth_attach();
    first = site_first_constructor(41);
    site_first_constructor(42);
}

__attribute__((constructor)) static void constructor()
{
    site_constructor(100);
    SITE_LOST(site_constructor, 100);
    free(site_constructor(100));
}

__attribute__((destructor(101))) static void destructor()
{
    site_destructor(200);
    SITE_FREE(site_first_constructor, first, 41);
}

struct static_object {
    void *p;
    static_object() : p(site_static_object(300))
    {
    }
    ~static_object()
    {
        SITE_LOST(site_static_object, 300);
        ::operator delete(p);
        site_static_object_end(301);
    }
};
static static_object object;

#ifndef LIBRARY
struct thread_object {
    void *p;
    thread_object() : p(site_thread_object(400))
    {
    }
    ~thread_object()
    {
        SITE_FREE(site_thread_object, p, 400);
        site_thread_object_end(401);
    }
    void touch()
    {
    }
};
static thread_local thread_object local;

static void at_exit()
{
    site_atexit(500);
    atexit([] { site_atexit(501); });
}

int main()
{
    atexit(at_exit);
    local.touch();
    for (int i = 0; i < 20; i++) {
        std::thread([] { local.touch(); }).join();
    }
    void *p = site_main(600);
    SITE_FREE(site_main, p, 600);
    puts("done");
    return 0;
}
#endif
