// The same for C++: a pool of objects, a memory resource for standard containers, and an allocator.
//
//     make objects && ./objects
//     heapscope run -i 1 -- ./objects

#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

#include <heapscope/heapscope.hpp>

struct particle {
    double position[3];
    double speed[3];
};

// A heap for one kind of data; containers with this allocator report to it.
static const heapscope::heap index_heap("index");
template <class T> using indexed = heapscope::allocator<T>;
using entry = std::pair<const int, particle *>;
using index_map =
    std::unordered_map<int, particle *, std::hash<int>, std::equal_to<int>, indexed<entry>>;

int main()
{
    // A pool: its blocks are the heap "particles". Its end frees them all.
    heapscope::pool particles("particles");
    index_map index(16, std::hash<int>(), std::equal_to<int>(), indexed<entry>(index_heap));
    for (int i = 0; i < 1000; i++) {
        index[i] = particles.create<particle>();
    }

    // A memory resource for one request: everything in it goes at once.
    heapscope::pool_resource request("request");
    std::pmr::vector<std::pmr::string> words(&request);
    for (int i = 0; i < 100; i++) {
        words.emplace_back("a word that is too long for the string itself");
    }

    std::printf("%zu particles, %zu words, heaps %u, %u and %u\n", index.size(), words.size(),
                particles.reports_to().id(), index_heap.id(), request.reports_to().id());
    return 0;
}
