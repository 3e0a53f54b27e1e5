/*
 * A browser's memory in small: objects of known classes, made by known functions, in scopes named
 * as Chrome's trace events are, by two threads. Prints "ready", and waits until its input ends.
 * With an argument, it runs its script twice.
 *
 *     23.5 MiB in all
 *       1946 KiB in ParseAuthorStyleSheet: 371 KiB ImmutableStylePropertySet, 238 KiB StringImpl
 *       1 MiB of Node: half of it in HTMLDocumentParser, half in RunScript
 */
#include <heapscope/heapscope.hpp>

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace blink
{

constexpr size_t KIB = 1024;

struct Object {
    virtual ~Object() = default;
};
struct ImmutableStylePropertySet : Object {
    char rest[KIB - sizeof(void *)];
};
struct StringImpl : Object {
    char rest[KIB / 2 - sizeof(void *)];
};
struct Node : Object {
    char rest[KIB - sizeof(void *)];
};

static void *volatile last; /* what is stored there is not optimized away */

template <class T> static void make(size_t size_bytes)
{
    for (size_t made = 0; made < size_bytes; made += sizeof(T)) {
        last = new T;
    }
}

/* Memory that is no object, in few blocks, so that types are read quickly. */
static void fill(size_t size_bytes)
{
    for (size_t made = 0; made < size_bytes; made += 32 * KIB) {
        last = calloc(1, size_bytes - made < 32 * KIB ? size_bytes - made : 32 * KIB);
    }
}

__attribute__((noinline)) static void parse_style_sheet()
{
    heapscope::scope scope("CSSParserImpl::parseStyleSheet");
    make<ImmutableStylePropertySet>(300 * KIB);
    make<StringImpl>(238 * KIB);
    fill(1000 * KIB);
}

__attribute__((noinline)) static void parse_author_style_sheet()
{
    heapscope::scope scope("ParseAuthorStyleSheet");
    make<ImmutableStylePropertySet>(71 * KIB);
    fill(337 * KIB);
    parse_style_sheet();
}

__attribute__((noinline)) static void run_script()
{
    heapscope::scope scope("RunScript");
    make<Node>(512 * KIB);
}

__attribute__((noinline)) static void lay_out()
{
    heapscope::scope scope("Layout");
    fill((24064 - 1946 - 1024) * KIB);
    for (size_t i = 0; i < 500; i++) { /* freed at once */
        void *block = malloc(KIB);
        last = block;
        free(block);
    }
}

__attribute__((noinline)) static void parse_document()
{
    heapscope::scope scope("HTMLDocumentParser");
    make<Node>(512 * KIB);
    parse_author_style_sheet();
}

static void *parser(void *arg)
{
    pthread_setname_np(pthread_self(), "HTMLParser");
    parse_document();
    return arg;
}

} // namespace blink

int main(int argc, char **)
{
    pthread_t thread;
    setvbuf(stdout, nullptr, _IONBF, 0);
    if (pthread_create(&thread, nullptr, blink::parser, nullptr) != 0) {
        return 1;
    }
    pthread_join(thread, nullptr);
    for (int i = 0; i < argc; i++) {
        blink::run_script();
    }
    blink::lay_out();
    printf("ready\n");
    while (getchar() != EOF) {
    }
    return 0;
}
