/*
 * Objects of many classes on the heap, whose constructors and destructors count.
 *
 *     typed_objects COUNT [fork]
 *
 * Prints `count TAB class` for each class, where a class is a most derived one and the count is of
 * blocks of its own; with "fork", `pid TAB child` of a child that has all of this too. Then prints
 * "ready", and waits until its input ends. Other blocks are there as well that
 * look like objects and are none: pointers to the middle of a vtable, to its start, to secondary
 * vtables, to a type_info; structures whose second member is an object.
 *
 * -fno-rtti builds it as well.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

template <class T> long live;

/* What an object is, and what its base has counted. */
template <class T, class... Bases> struct Tally {
    Tally()
    {
        ++live<T>;
        (--live<Bases>, ...);
    }
    Tally(const Tally &) : Tally()
    {
    }
    ~Tally()
    {
        --live<T>;
        (++live<Bases>, ...);
    }
};

struct Hidden { /* in an anonymous namespace */
    Tally<Hidden> tally;
    virtual ~Hidden() = default;
};

} // namespace

namespace shapes
{

struct Plain {
    Tally<Plain> tally;
    long number = 1;
    virtual ~Plain() = default;
    virtual long area() const
    {
        return number;
    }
};

struct Single : Plain {
    Tally<Single, Plain> tally;
    long more[3] = { 1, 2, 3 };
    long area() const override
    {
        return more[1];
    }
};

struct Deeper final : Single {
    Tally<Deeper, Single> tally;
    char text[40] = "";
};

struct Other {
    Tally<Other> tally;
    double weight = 2;
    virtual ~Other() = default;
    virtual double heavy() const
    {
        return weight;
    }
};

struct Multiple : Plain, Other {
    Tally<Multiple, Plain, Other> tally;
    long area() const override
    {
        return 7;
    }
};

struct NotPolymorphic {
    long words[2] = { 5, 6 };
};

/* The polymorphic base moves to the front. */
struct BehindPlainBase : NotPolymorphic, Plain {
    Tally<BehindPlainBase, Plain> tally;
};

struct Top {
    Tally<Top> tally;
    long top = 4;
    virtual ~Top() = default;
};

struct Left : virtual Top {
    Tally<Left, Top> tally;
    long left = 5;
};

struct Right : virtual Top {
    Tally<Right, Top> tally;
    long right = 6;
};

struct Diamond : Left, Right {
    struct Once {
        Once()
        {
            ++live<Top>; /* both bases have taken it off */
        }
        ~Once()
        {
            --live<Top>;
        }
    } once;
    Tally<Diamond, Left, Right> tally;
};

/* A pointer to a vtable and no virtual function. */
struct OnlyVirtualBase : virtual NotPolymorphic {
    Tally<OnlyVirtualBase> tally;
};

template <class T> struct Box {
    Tally<Box> tally;
    T value{};
    virtual ~Box() = default;
};

struct Abstract {
    virtual ~Abstract() = default;
    virtual void act() = 0;
};

struct Concrete : private Abstract {
    Tally<Concrete> tally;
    void act() override
    {
    }
};

struct alignas(64) Aligned {
    Tally<Aligned> tally;
    virtual ~Aligned() = default;
};

struct Element { /* of arrays, lists and structures only */
    long number = 1;
    virtual ~Element() = default;
};

struct Holder {
    long count = 1;
    Element element;
};

} // namespace shapes

using namespace shapes;

static std::vector<void *> kept;
static std::vector<std::shared_ptr<void>> shared;
static size_t count;

/* Twice as many as are kept: the others are freed in between. */
template <class T> static void make()
{
    std::vector<T *> gone;
    for (size_t i = 0; i < count; i++) {
        kept.push_back(new T);
        gone.push_back(new T);
    }
    for (T *each : gone) {
        delete each;
    }
}

static void make_local()
{
    struct Local {
        Tally<Local> tally;
        virtual ~Local() = default;
    };
    make<Local>();
    printf("%ld\tmake_local()::Local\n", live<Local>);
}

template <class T> static void print(const char *name)
{
    make<T>();
    if (live<T> != (long)count) {
        abort();
    }
    printf("%ld\t%s\n", live<T>, name);
}

/* A block of 40 bytes that begins with `word`. */
static void put(const void *word)
{
    char *block = static_cast<char *>(malloc(40));
    memset(block, 0, 40);
    memcpy(block, &word, sizeof(word));
    kept.push_back(block);
}

static void make_odd()
{
    static Multiple multiple;
    static Diamond diamond;
    const char *first, *second;
    const Other *other = &multiple;
    memcpy(&first, static_cast<void *>(&multiple), sizeof(first));
    memcpy(&second, static_cast<const void *>(other), sizeof(second));
    for (size_t i = 0; i < count; i++) {
        put(second); /* a secondary vtable */
        put(first + 8);
        put(first + 16);
        put(first - 8);
        put(first - 16);
        put(first + 1);
        const char *info;
        memcpy(&info, first - 8, sizeof(info));
        put(info);
        memcpy(&second, static_cast<void *>(static_cast<Right *>(&diamond)), sizeof(second));
        put(second);
        put(reinterpret_cast<const void *>(&make_local));
        put("a string in constant memory");
        kept.push_back(new Holder);
        kept.push_back(new std::string(100, 'x'));
        kept.push_back(new NotPolymorphic);
    }
}

int main(int argc, char **argv)
{
    static std::list<Element> elements;
    count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 100;
    print<Hidden>("(anonymous namespace)::Hidden");
    print<Plain>("shapes::Plain");
    print<Single>("shapes::Single");
    print<Deeper>("shapes::Deeper");
    print<Other>("shapes::Other");
    print<Multiple>("shapes::Multiple");
    print<BehindPlainBase>("shapes::BehindPlainBase");
    print<Top>("shapes::Top");
    print<Left>("shapes::Left");
    print<Right>("shapes::Right");
    print<Diamond>("shapes::Diamond");
#if __GXX_RTTI
    print<OnlyVirtualBase>("shapes::OnlyVirtualBase");
#endif
    print<Box<int>>("shapes::Box<int>");
    print<Box<std::map<long, Plain *>>>(
        "shapes::Box<std::map<long, shapes::Plain*, std::less<long>, "
        "std::allocator<std::pair<long const, shapes::Plain*> > > >");
    print<Concrete>("shapes::Concrete");
    print<Aligned>("shapes::Aligned");
    make_local();
    for (size_t i = 0; i < count; i++) {
        kept.push_back(new Element[2 + i % 50]);
        shared.push_back(std::make_shared<NotPolymorphic>());
        elements.emplace_back();
    }
#if __GXX_RTTI
    printf("%zu\tshapes::Element[]\n", count);
#endif
    printf("%zu\tstd::_Sp_counted_ptr_inplace<shapes::NotPolymorphic, std::allocator<void>, "
           "(__gnu_cxx::_Lock_policy)2>\n",
           count);
    make_odd();
    if (argc > 2) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            put("recording a child begins with its first allocation");
            pause();
        }
        printf("%d\tchild\n", (int)child);
    }
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    _Exit(0);
}
