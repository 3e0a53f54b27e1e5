/*
 * heapscope's API for C++17: heaps, pools, memory resources and an allocator.
 *
 *     heapscope::heap textures("textures");
 *     heapscope::pool_resource arena("arena");        // a std::pmr::memory_resource
 *     std::pmr::vector<int> numbers(&arena);
 *     std::vector<int, heapscope::allocator<int>> more(heapscope::allocator<int>(textures));
 *
 * Link with -lheapscope, or define HEAPSCOPE_WEAK before this header and link nothing: heaps then
 * report nothing, and a pool_resource is a pool of the standard library. See heapscope.hpp(3).
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <heapscope/heapscope.h>

namespace heapscope
{

namespace detail
{

/* In a program that is compiled without exceptions, ends the program. */
[[noreturn]] inline void throw_bad_alloc()
{
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

} // namespace detail

/* A registered heap. It is there until the process ends, so copies are the same heap. A heap that
 * could not be registered has the id 0, and its reports do nothing. */
class heap
{
  public:
    enum class memory { carved, primary }; /* carved: lies in blocks of other heaps */

    constexpr heap() noexcept = default;
    explicit constexpr heap(std::uint32_t registered_id) noexcept : id_(registered_id)
    {
    }
    explicit heap(const char *name, memory kind = memory::carved) noexcept
    {
        heapscope_heap *created = heapscope_heap_create(name);
        heapscope_heap_set_primary(created, kind == memory::primary);
        id_ = heapscope_heap_register(created);
    }
    heap(const char *name, heap parent) noexcept
    {
        heapscope_heap *created = heapscope_heap_create(name);
        heapscope_heap_set_parent(created, parent.id());
        id_ = heapscope_heap_register(created);
    }

    std::uint32_t id() const noexcept
    {
        return id_;
    }
    std::uint64_t interval() const noexcept
    {
        return heapscope_interval(id_);
    }
    bool report_alloc(const void *block, std::size_t size_bytes) const noexcept
    {
        return heapscope_report_alloc(id_, reinterpret_cast<std::uintptr_t>(block), size_bytes);
    }
    bool report_alloc(const void *block, std::size_t size_bytes, const char *type) const noexcept
    {
        return heapscope_report_alloc_of(id_, reinterpret_cast<std::uintptr_t>(block), size_bytes,
                                         type);
    }
    bool report_sample(const void *block, std::size_t weight_bytes) const noexcept
    {
        return heapscope_report_sample(id_, reinterpret_cast<std::uintptr_t>(block), weight_bytes);
    }
    void report_free(const void *block) const noexcept
    {
        heapscope_report_free(id_, reinterpret_cast<std::uintptr_t>(block));
    }

    friend bool operator==(heap a, heap b) noexcept
    {
        return a.id_ == b.id_;
    }
    friend bool operator!=(heap a, heap b) noexcept
    {
        return a.id_ != b.id_;
    }

  private:
    std::uint32_t id_ = 0;
};

/* The name of a scope or a label, which is looked up once: a static object, mostly. */
class scope_name
{
  public:
    explicit scope_name(const char *name) noexcept : id_(heapscope_scope_name(name))
    {
    }
    scope_name(const char *key, const char *value) noexcept : id_(heapscope_label_name(key, value))
    {
    }
    std::uint32_t id() const noexcept
    {
        return id_;
    }

  private:
    std::uint32_t id_;
};

/* A scope, or a label, that lasts as long as the object. When it ends, so does every scope of the
 * thread that was opened later and is still open. It ends in the thread that opened it. */
class scope
{
  public:
    explicit scope(const char *name) noexcept : depth_((heapscope_scope_begin)(name))
    {
    }
    scope(const char *key, const char *value) noexcept : depth_(heapscope_label_begin(key, value))
    {
    }
    explicit scope(scope_name name) noexcept : depth_(heapscope_scope_enter(name.id()))
    {
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope()
    {
        heapscope_scope_end_to(depth_);
    }

  private:
    std::uint32_t depth_;
};

/* A pool of its own; it is destroyed with the object, and with it all its blocks. Throws
 * std::bad_alloc if it cannot be created, and if a block cannot be had. */
class pool
{
  public:
    explicit pool(const char *name, const heapscope_pool_options &options = {})
        : pool_(heapscope_pool_create(name, &options))
    {
        if (!pool_) {
            detail::throw_bad_alloc();
        }
    }
    pool(pool &&other) noexcept : pool_(std::exchange(other.pool_, nullptr))
    {
    }
    pool &operator=(pool &&other) noexcept
    {
        std::swap(pool_, other.pool_);
        return *this;
    }
    ~pool()
    {
        heapscope_pool_destroy(pool_);
    }

    void *allocate(std::size_t size_bytes, std::size_t align_bytes = alignof(std::max_align_t))
    {
        void *block = heapscope_pool_alloc_aligned(pool_, size_bytes, align_bytes);
        if (!block) {
            detail::throw_bad_alloc();
        }
        return block;
    }
    void deallocate(void *block) noexcept
    {
        heapscope_pool_free(pool_, block);
    }
    /* Makes an object in a block of the pool. Nothing destroys it but destroy(). */
    template <class T, class... Args> T *create(Args &&...args)
    {
        void *block = allocate(sizeof(T), alignof(T));
#if defined(__cpp_exceptions)
        try {
            return ::new (block) T(std::forward<Args>(args)...);
        } catch (...) {
            deallocate(block);
            throw;
        }
#else
        return ::new (block) T(std::forward<Args>(args)...);
#endif
    }
    template <class T> void destroy(T *object) noexcept
    {
        if (object) {
            object->~T();
            deallocate(object);
        }
    }
    std::size_t trim() noexcept
    {
        return heapscope_pool_trim(pool_);
    }
    heap reports_to() const noexcept
    {
        return heap(heapscope_pool_heap(pool_));
    }
    heapscope_pool *get() const noexcept
    {
        return pool_;
    }

  private:
    heapscope_pool *pool_;
};

namespace detail
{

inline void *alloc_upstream(void *data, std::size_t size_bytes)
{
#if defined(__cpp_exceptions)
    try {
        return static_cast<std::pmr::memory_resource *>(data)->allocate(size_bytes, 16);
    } catch (...) {
        return nullptr;
    }
#else
    return static_cast<std::pmr::memory_resource *>(data)->allocate(size_bytes, 16);
#endif
}

inline void free_upstream(void *data, void *memory, std::size_t size_bytes)
{
    static_cast<std::pmr::memory_resource *>(data)->deallocate(memory, size_bytes, 16);
}

} // namespace detail

/* A memory resource over a pool of its own, whose chunks come from `upstream`. May be used by
 * several threads, if `upstream` may. Destroying or releasing it frees all its blocks. Without the
 * library it is a std::pmr::synchronized_pool_resource. */
class pool_resource : public std::pmr::memory_resource
{
  public:
    explicit pool_resource(const char *name,
                           std::pmr::memory_resource *upstream = std::pmr::get_default_resource(),
                           heap parent = heap())
        : name_(name), upstream_(upstream), parent_(parent)
    {
        make();
    }
    pool_resource(const pool_resource &) = delete;
    pool_resource &operator=(const pool_resource &) = delete;
    ~pool_resource() override
    {
        heapscope_pool_destroy(pool_);
    }

    /* Frees all blocks. */
    void release()
    {
        heapscope_pool_destroy(std::exchange(pool_, nullptr));
        plain_.reset();
        make();
    }
    std::size_t trim() noexcept
    {
        return heapscope_pool_trim(pool_);
    }
    heap reports_to() const noexcept
    {
        return heap(heapscope_pool_heap(pool_));
    }
    std::pmr::memory_resource *upstream_resource() const noexcept
    {
        return upstream_;
    }

  private:
    void make()
    {
        heapscope_pool_options options = {};
        options.parent = parent_.id();
        options.alloc = detail::alloc_upstream;
        options.free = detail::free_upstream;
        options.data = upstream_;
        pool_ = heapscope_pool_create(name_, &options);
        if (!pool_) {
            plain_.emplace(upstream_);
        }
    }
    void *do_allocate(std::size_t size_bytes, std::size_t align_bytes) override
    {
        if (!pool_) {
            return plain_->allocate(size_bytes, align_bytes);
        }
        void *block = heapscope_pool_alloc_aligned(pool_, size_bytes, align_bytes);
        if (!block) {
            detail::throw_bad_alloc();
        }
        return block;
    }
    void do_deallocate(void *block, std::size_t size_bytes, std::size_t align_bytes) override
    {
        if (!pool_) {
            plain_->deallocate(block, size_bytes, align_bytes);
        } else {
            heapscope_pool_free(pool_, block);
        }
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }

    const char *name_; /* the caller's: usually a literal */
    std::pmr::memory_resource *upstream_;
    heap parent_;
    heapscope_pool *pool_ = nullptr;
    std::optional<std::pmr::synchronized_pool_resource> plain_;
};

/* A memory resource that passes everything on to `upstream`, and reports it to a heap. */
class reporting_resource : public std::pmr::memory_resource
{
  public:
    explicit reporting_resource(heap reports_to, std::pmr::memory_resource *upstream =
                                                     std::pmr::get_default_resource()) noexcept
        : heap_(reports_to), upstream_(upstream)
    {
    }
    heap reports_to() const noexcept
    {
        return heap_;
    }
    std::pmr::memory_resource *upstream_resource() const noexcept
    {
        return upstream_;
    }

  private:
    void *do_allocate(std::size_t size_bytes, std::size_t align_bytes) override
    {
        void *block = upstream_->allocate(size_bytes, align_bytes);
        heap_.report_alloc(block, size_bytes);
        return block;
    }
    void do_deallocate(void *block, std::size_t size_bytes, std::size_t align_bytes) override
    {
        heap_.report_free(block);
        upstream_->deallocate(block, size_bytes, align_bytes);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
#if defined(__cpp_rtti)
        const auto *same = dynamic_cast<const reporting_resource *>(&other);
        return same && same->heap_ == heap_ && same->upstream_->is_equal(*upstream_);
#else
        return this == &other;
#endif
    }

    heap heap_;
    std::pmr::memory_resource *upstream_;
};

/* An allocator for containers that passes everything on to `Base`, and reports it to a heap. Blocks
 * may be freed by another allocator of the same heap whose base is equal. */
template <class T, class Base = std::allocator<T>> class allocator
{
    using base_traits = std::allocator_traits<Base>;
    static_assert(std::is_same_v<typename base_traits::value_type, T>, "Base allocates objects T");
    static_assert(std::is_pointer_v<typename base_traits::pointer>, "Base returns pointers");
    static constexpr bool is_base_equal = base_traits::is_always_equal::value;

  public:
    using value_type = T;
    using size_type = typename base_traits::size_type;
    using difference_type = typename base_traits::difference_type;
    /* The heap goes with the blocks, unless Base stays where it is: then blocks are not handed over
     * and both stay. */
    using propagate_on_container_copy_assignment =
        std::bool_constant<is_base_equal ||
                           base_traits::propagate_on_container_copy_assignment::value>;
    using propagate_on_container_move_assignment =
        std::bool_constant<is_base_equal ||
                           base_traits::propagate_on_container_move_assignment::value>;
    using propagate_on_container_swap =
        std::bool_constant<is_base_equal || base_traits::propagate_on_container_swap::value>;
    using is_always_equal = std::false_type;
    template <class U> struct rebind {
        using other = allocator<U, typename base_traits::template rebind_alloc<U>>;
    };

    explicit allocator(heap reports_to, const Base &base = Base()) noexcept
        : heap_(reports_to), base_(base)
    {
    }
    template <class U, class OtherBase>
    allocator(const allocator<U, OtherBase> &other) noexcept
        : heap_(other.reports_to()), base_(other.base())
    {
    }

    /* What the copy of a container gets. */
    allocator select_on_container_copy_construction() const
    {
        return allocator(heap_, base_traits::select_on_container_copy_construction(base_));
    }
    T *allocate(size_type count)
    {
        T *block = base_traits::allocate(base_, count);
        heap_.report_alloc(block, count * sizeof(T));
        return block;
    }
    void deallocate(T *block, size_type count) noexcept
    {
        heap_.report_free(block);
        base_traits::deallocate(base_, block, count);
    }
    heap reports_to() const noexcept
    {
        return heap_;
    }
    const Base &base() const noexcept
    {
        return base_;
    }
    template <class U, class OtherBase>
    friend bool operator==(const allocator &a, const allocator<U, OtherBase> &b) noexcept
    {
        return a.reports_to() == b.reports_to() && a.base() == Base(b.base());
    }
    template <class U, class OtherBase>
    friend bool operator!=(const allocator &a, const allocator<U, OtherBase> &b) noexcept
    {
        return !(a == b);
    }

  private:
    heap heap_;
    Base base_;
};

} // namespace heapscope
