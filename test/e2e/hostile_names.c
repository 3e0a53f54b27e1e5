/*
 * A program whose functions and thread have names that attack who shows them: markup, scripts, a
 * mark that turns the direction of text, and control characters.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void *take(size_t size) __asm__("\"<script>window.hostile=1</script>\"");
void *hold(size_t size) __asm__("\"<img src=x onerror='window.hostile=1'>\"");
void *turn(size_t size) __asm__("\"\342\200\256evil \033[31m\"");

__attribute__((noinline)) void *take(size_t size)
{
    void *block = malloc(size);
    memset(block, 1, size);
    return block;
}

__attribute__((noinline)) void *hold(size_t size)
{
    void *block = take(size);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) void *turn(size_t size)
{
    void *block = hold(size);
    __asm__ volatile("" ::: "memory");
    return block;
}

static void *work(void *argument)
{
    pthread_setname_np(pthread_self(), "<b>\033[1mthread");
    for (int i = 0; i < 1000; i++) {
        turn(500);
    }
    return argument;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000; i++) {
        turn(1000);
    }
    return 0;
}
