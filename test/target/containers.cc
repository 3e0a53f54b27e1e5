/*
 * Makes COUNT containers of each kind, whose storage has known types, and waits for the end of its
 * input.
 *
 *     containers COUNT
 */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace goods
{
struct Widget {
    long numbers[3] = { 1, 2, 3 };
};
struct Gadget { /* looks like a Widget to a compiler that merges equal functions */
    long numbers[3] = { 4, 5, 6 };
};
struct Shape { /* its objects are recognized by their memory */
    long number = 1;
    virtual ~Shape() = default;
};
struct Holder { /* its constructor allocates, too */
    char *text;
    Holder() : text(new char[300])
    {
    }
};
} // namespace goods
using namespace goods;

template <class T> static T *keep(T *made)
{
    static std::vector<void *> kept;
    kept.push_back(made);
    return made;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100;
    keep(&count);
    for (long i = 0; i < count; i++) {
        keep(new std::vector<Widget>(10));
        keep(new std::vector<Gadget>(10));
        keep(new std::map<long, Gadget>)->emplace(i, Gadget());
        keep(new std::vector<Shape>(10));
        keep(new std::list<long>)->push_back(i);
        keep(new std::map<long, Widget>)->emplace(i, Widget());
        keep(new std::string(200, 'x'));
        keep(new std::shared_ptr<Widget>(std::make_shared<Widget>()));
        keep(std::make_unique<Holder>().release());
        keep(std::make_unique<std::vector<short>>(70).release());
    }
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
