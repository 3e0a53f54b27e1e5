// What heapscope.hpp has, checked by itself: the exit status says whether all of it holds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <heapscope/heapscope.hpp>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%d: %s\n", __LINE__, #condition);                                \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static const heapscope::heap strings("strings");
static const heapscope::heap mapped("mapped", heapscope::heap::memory::primary);
static const heapscope::heap within("within", strings);

// Counts what is live, and knows sizes and alignments.
class counting : public std::pmr::memory_resource
{
  public:
    std::map<void *, std::pair<std::size_t, std::size_t>> live;

  private:
    void *do_allocate(std::size_t size_bytes, std::size_t align_bytes) override
    {
        void *block = std::pmr::new_delete_resource()->allocate(size_bytes, align_bytes);
        live[block] = { size_bytes, align_bytes };
        return block;
    }
    void do_deallocate(void *block, std::size_t size_bytes, std::size_t align_bytes) override
    {
        CHECK(live.count(block) && live[block] == std::make_pair(size_bytes, align_bytes));
        live.erase(block);
        std::pmr::new_delete_resource()->deallocate(block, size_bytes, align_bytes);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};

struct alignas(64) wide {
    char bytes[64];
};

static void test_pool_resource()
{
    counting upstream;
    {
        heapscope::pool_resource pool("resource", &upstream, strings);
        CHECK(pool.upstream_resource() == &upstream);
        std::pmr::vector<std::pmr::string> texts(&pool);
        for (int i = 0; i < 1000; i++) {
            texts.emplace_back(std::string(static_cast<std::size_t>(i), 'x'));
        }
        for (std::size_t i = 0; i < 1000; i++) {
            CHECK(std::string(texts[i]) == std::string(i, 'x'));
        }
        std::pmr::vector<wide> wides(100, &pool);
        CHECK(reinterpret_cast<std::uintptr_t>(wides.data()) % 64 == 0);
        CHECK(!upstream.live.empty());
        texts = std::pmr::vector<std::pmr::string>(&pool);
        wides = std::pmr::vector<wide>(&pool);
        pool.trim();
        std::memset(pool.allocate(10), 1, 10); // released below
        pool.release();
        std::memset(pool.allocate(10), 1, 10); // freed with the pool
        CHECK(pool.is_equal(pool));
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) {
            threads.emplace_back([&pool] {
                heapscope::pool_resource nested("nested", &pool);
                for (int k = 0; k < 1000; k++) {
                    nested.deallocate(nested.allocate(100), 100);
                }
            });
            threads.back().join(); // the counting resource is for one thread
        }
    }
    CHECK(upstream.live.empty());
}

static void test_reporting_resource()
{
    counting upstream;
    heapscope::reporting_resource resource(strings, &upstream), same(strings, &upstream);
    heapscope::reporting_resource other(mapped, &upstream), plain(strings);
    CHECK(resource.reports_to() == strings && resource.upstream_resource() == &upstream);
    CHECK(resource.is_equal(same) && !resource.is_equal(plain) && !resource.is_equal(upstream));
    CHECK(resource.is_equal(other) == (strings == mapped)); // both are no heap without the library
    {
        std::pmr::vector<int> numbers(1000, 7, &resource);
        CHECK(upstream.live.size() == 1);
        CHECK(upstream.live.begin()->second == std::make_pair(sizeof(int) * 1000, alignof(int)));
    }
    CHECK(upstream.live.empty());
}

template <class T> using reported = heapscope::allocator<T>;

static void test_allocator()
{
    std::vector<int, reported<int>> numbers(1000, 7, reported<int>(strings));
    auto copy = numbers;
    CHECK(copy == numbers && copy.get_allocator() == numbers.get_allocator());
    CHECK(copy.get_allocator() == reported<long>(strings));
    CHECK((numbers.get_allocator() != reported<int>(mapped)) == (strings != mapped));
    auto moved = std::move(numbers);
    CHECK(moved.size() == 1000);
    using pair = std::pair<const std::string, int>;
    std::map<std::string, int, std::less<>, reported<pair>> counts{ reported<pair>(mapped) };
    for (int i = 0; i < 100; i++) {
        counts[std::to_string(i)] = i;
    }
    std::map<std::string, int, std::less<>, reported<pair>> other{ reported<pair>(strings) };
    other = counts;
    other.swap(counts);
    CHECK(other.at("42") == 42 && other.get_allocator().reports_to() == mapped);
    std::basic_string<char, std::char_traits<char>, reported<char>> text(1000, 'x',
                                                                         reported<char>(strings));
    CHECK(text.size() == 1000);
}

// Over a base whose allocators stay where they are, when containers are assigned.
static void test_allocator_that_stays()
{
    using staying = heapscope::allocator<int, std::pmr::polymorphic_allocator<int>>;
    counting upstream;
    {
        std::vector<int, staying> there(100, 7, staying(strings, &upstream));
        std::vector<int, staying> here{ staying(mapped) };
        here = there;
        CHECK(here == there && here.get_allocator() == staying(mapped));
        here = std::move(there);
        CHECK(here.size() == 100 && here.get_allocator() == staying(mapped));
        std::vector<int, staying> copy(here);
        copy.swap(here);
        CHECK(copy == here && copy.get_allocator().reports_to() == mapped);
    }
    CHECK(upstream.live.empty());
}

// An object whose constructor may throw.
struct fragile {
    explicit fragile(bool throws)
    {
        if (throws) {
            throw 7;
        }
    }
    ~fragile()
    {
        destroyed++;
    }
    static inline int destroyed = 0;
    wide inside;
};

static void test_pool()
{
    try {
        heapscope::pool pool("objects"), other("objects");
        CHECK(pool.reports_to() == other.reports_to() && pool.reports_to().id() != 0);
        fragile *object = pool.create<fragile>(false);
        CHECK(reinterpret_cast<std::uintptr_t>(object) % 64 == 0);
        pool.destroy(object);
        pool.destroy<fragile>(nullptr);
        CHECK(fragile::destroyed == 1);
        bool caught = false;
        try {
            pool.create<fragile>(true);
        } catch (int) {
            caught = true;
        }
        CHECK(caught && fragile::destroyed == 1);
        CHECK(pool.trim() > 0); // nothing is live any more
        other = std::move(pool);
        CHECK(other.allocate(100) != nullptr);
        try {
            other.allocate(~std::size_t(0));
            CHECK(false);
        } catch (const std::bad_alloc &) {
        }
    } catch (const std::bad_alloc &) {
        CHECK(strings.id() == 0); // only without the library
    }
}

int main()
{
    const heapscope::heap none;
    CHECK(none.id() == 0 && !none.report_alloc(&none, 1) && none.interval() == 0);
    none.report_free(&none);
    CHECK((strings.id() != 0) == (within != mapped));
    test_pool_resource();
    test_reporting_resource();
    test_allocator();
    test_allocator_that_stays();
    test_pool();
    std::puts(strings.id() != 0 ? "with the library" : "without the library");
    return 0;
}
