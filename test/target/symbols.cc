/*
 * Code whose names are looked up: inlined chains, templates, lambdas, namespaces, static and local
 * functions.
 *
 * Only its addresses matter; the computations only keep the optimizer from removing it.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace outer
{
namespace
{
/* Internal linkage: some compilers give such a function no linkage name. */
__attribute__((noinline)) int hidden(int x)
{
    return std::atoi(std::to_string(x).c_str());
}
} // namespace

static inline __attribute__((always_inline)) int innermost(int x)
{
    return hidden(x) + std::abs(x - 7);
}

static inline __attribute__((always_inline)) int middle(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += innermost(i);
    }
    return sum;
}

template <typename Key, int N> class Table
{
  public:
    void add(const Key &key, const std::string &value)
    {
        auto grow = [this](const Key &k, const std::string &v) {
            rows_[k].push_back(v + std::to_string(N));
        };
        grow(key, value);
    }
    __attribute__((noinline)) size_t total() const
    {
        struct Sum {
            size_t bytes = 0;
            __attribute__((noinline)) void add(const std::string &text)
            {
                bytes += static_cast<size_t>(std::strtol(text.c_str(), nullptr, 10)) + text.size();
            }
        } sum;
        for (const auto &row : rows_) {
            std::for_each(row.second.begin(), row.second.end(),
                          [&sum](const std::string &text) { sum.add(text); });
        }
        return sum.bytes;
    }

  private:
    std::map<Key, std::vector<std::string>> rows_;
};

struct Base {
    virtual ~Base() = default;
    virtual int work(int x) = 0;
};

struct Derived final : Base {
    int work(int x) override
    {
        if (x < 0) {
            throw std::string("negative");
        }
        return middle(x);
    }
};
} // namespace outer

extern "C" __attribute__((noinline)) int plain_c_name(int x)
{
    return outer::middle(x) + std::rand();
}

int main(int argc, char **)
{
    outer::Table<int, 3> by_number;
    outer::Table<std::string, 5> by_name;
    std::unique_ptr<outer::Base> base = std::make_unique<outer::Derived>();
    int sum = 0;
    for (int i = 0; i < argc * 10; i++) {
        by_number.add(i, "number");
        by_name.add(std::to_string(i), "name");
        try {
            sum += base->work(i - 1);
        } catch (const std::string &) {
            sum += plain_c_name(i);
        }
    }
    std::function<int(int)> again = [&](int x) { return sum + x + base->work(x); };
    std::printf("%zu %zu %d\n", by_number.total(), by_name.total(), again(3));
    return 0;
}
