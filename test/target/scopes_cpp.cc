// Scopes in C++: guards, and what exceptions leave.
#include <heapscope/heapscope.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

void *blocks[100]; // not static: the compiler keeps what is stored there
static unsigned block_count;

static __attribute__((noinline)) void take(std::size_t size_bytes)
{
    blocks[block_count++] = std::malloc(size_bytes);
}

static void fail(int depth)
{
    heapscope::scope scope("fails");
    HEAPSCOPE_SCOPE("fails by macro");
    heapscope_scope_begin("never ended");
    take(2001 + depth);
    if (depth == 1) {
        throw std::runtime_error("so it is meant");
    }
    fail(depth + 1);
}

template <class T> static void in_template(std::size_t size_bytes)
{
    HEAPSCOPE_SCOPE(sizeof(T) == 1 ? "narrow" : "wide");
    take(size_bytes);
}

int main()
{
    {
        heapscope::scope outer("outer");
        try {
            fail(0);
        } catch (const std::exception &) {
            take(2011);
        }
        take(2012);
    }
    take(2013);
    static const heapscope::scope_name known("known"), tenant("tenant", "a");
    {
        heapscope::scope a(known), b(tenant), c("job", std::to_string(42).c_str());
        take(2021);
    }
    in_template<char>(2031);
    in_template<int>(2032);
}
