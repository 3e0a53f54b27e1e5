/*
 * See jit_runtimes.h.
 */
#include "util/jit_runtimes.h"

#include <string.h>

#include "rt/base.h"

#define NODE       "start it with node --perf-basic-prof --interpreted-frames-native-stack"
#define JAVA       "start it with java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
#define NET        "set DOTNET_PerfMapEnabled=1 in its environment"
#define LUA        "LuaJIT writes no perf map; luajit -joff makes no such code"
#define PYPY       "PyPy writes no perf map; pypy3 --jit off makes no such code"

#define NODE_NAMED "JavaScript functions of node 18 and later"
#define JAVA_NAMED "methods of Java"
#define PHP_NAMED  "functions of PHP 8.2"

static const struct hs_jit_runtime runtimes[] = {
    { "chromium", "V8", "start it with chromium --js-flags=--perf-basic-prof --no-sandbox", NULL },
    { "dotnet", ".NET", NET, NULL },
    { "java", "the JVM", JAVA, JAVA_NAMED },
    { "libcoreclr.so", ".NET", NET, NULL },
    { "libjvm.so", "the JVM", JAVA, JAVA_NAMED },
    { "libluajit-5.1.so", "LuaJIT", LUA, NULL },
    { "libnode.so", "node", NODE, NODE_NAMED },
    { "libpypy3.9-c.so", "PyPy", PYPY, NULL },
    { "luajit", "LuaJIT", LUA, NULL },
    { "node", "node", NODE, NODE_NAMED },
    { "nodejs", "node", NODE, NODE_NAMED },
    { "php", "PHP", "set opcache.jit_debug=0x10 in its configuration", PHP_NAMED },
    { "pypy3", "PyPy", PYPY, NULL },
    { "pypy3.9", "PyPy", PYPY, NULL },
};

const struct hs_jit_runtime *hs_jit_runtime_find(const char *file, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(runtimes); i++) {
        size_t n = strlen(runtimes[i].file);
        if (bytes >= n && memcmp(runtimes[i].file, file, n) == 0 &&
            (bytes == n || (n > 3 && memcmp(file, "lib", 3) == 0 && file[n] == '.'))) {
            return &runtimes[i];
        }
    }
    return NULL;
}
