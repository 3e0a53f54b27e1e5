/*
 * See jit_runtimes.h.
 */
#include "util/jit_runtimes.h"

#include <string.h>

#include "rt/base.h"

#define NODE "start it with node --perf-basic-prof --interpreted-frames-native-stack"
#define JAVA "start it with java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
#define NET  "set DOTNET_PerfMapEnabled=1 in its environment"
#define LUA  "LuaJIT writes no perf map; luajit -joff makes no such code"

static const struct hs_jit_runtime runtimes[] = {
    { "chromium", "V8", "start it with chromium --js-flags=--perf-basic-prof --no-sandbox" },
    { "dotnet", ".NET", NET },
    { "java", "the JVM", JAVA },
    { "libcoreclr.so", ".NET", NET },
    { "libjvm.so", "the JVM", JAVA },
    { "libluajit-5.1.so", "LuaJIT", LUA },
    { "libnode.so", "node", NODE },
    { "luajit", "LuaJIT", LUA },
    { "node", "node", NODE },
    { "nodejs", "node", NODE },
    { "php", "PHP", "set opcache.jit_debug=0x10 in its configuration" },
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
