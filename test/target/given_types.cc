/*
 * Gives blocks types by heapscope/typed.hpp: COUNT of each. Ends with status 1 if the header does
 * not do what it says, and otherwise waits for the end of its input.
 *
 *     given_types COUNT
 */
#include <heapscope/typed.hpp>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <new>
#include <vector>

namespace given
{
struct Shape { /* recognized by its memory */
    long number = 1;
    virtual ~Shape() = default;
};
struct Slot { /* has a Shape in it, and is given as a Slot */
    alignas(Shape) char bytes[sizeof(Shape)];
};
struct Point {
    long x, y;
    Point(long first, long second) : x(first), y(second)
    {
    }
};
struct Thrower {
    Thrower()
    {
        throw 7;
    }
};
#if defined(__cpp_aligned_new)
struct alignas(128) Wide {
    char bytes[128];
};
#else
struct Wide {
    char bytes[128];
};
#endif
} // namespace given
using namespace given;
using heapscope::make_typed;
using heapscope::typed_allocator;

template <class T> using Vector = std::vector<T, typed_allocator<T>>;
template <class T> using List = std::list<T, typed_allocator<T>>;
template <class K, class V>
using Map = std::map<K, V, std::less<K>, typed_allocator<std::pair<const K, V>>>;

/* Returns whether all is as the header says. */
static bool check()
{
    bool has_thrown = false, is_refused = false;
    try {
        make_typed<Thrower>();
    } catch (int) {
        has_thrown = true;
    }
    try {
        typed_allocator<Point>().allocate(static_cast<size_t>(-1) / 8);
    } catch (const std::bad_alloc &) {
        is_refused = true;
    }
    Point *point = make_typed<Point>(1, 2);
    bool is_made = point->x == 1 && point->y == 2;
    delete point;
    Wide *wide = make_typed<Wide>();
    bool is_aligned = reinterpret_cast<size_t>(wide) % alignof(Wide) == 0;
    delete wide;
    Vector<int> numbers = { 1, 2, 3 }, others;
    others = std::move(numbers);
    typed_allocator<int> a;
    typed_allocator<long> b(a);
    return has_thrown && is_refused && is_made && is_aligned && others.size() == 3 && a == b &&
           !(a != b);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100;
    std::vector<void *> kept;
    Vector<Vector<short>> shorts;
    Vector<Vector<Slot>> slots;
    List<float> floats;
    Map<long, char> names;
    shorts.reserve(static_cast<size_t>(count));
    slots.reserve(static_cast<size_t>(count));
    for (long i = 0; i < count; i++) {
        kept.push_back(make_typed<Point>(i, i));
        kept.push_back(make_typed<Wide>());
        shorts.push_back(Vector<short>(50));
        slots.push_back(Vector<Slot>(3));
        new (slots.back()[0].bytes) Shape;
        floats.push_back(1);
        names[i] = 'x';
    }
    if (!check()) {
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
