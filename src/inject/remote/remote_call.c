/*
 * From a return address to the callee, through the procedure linkage table: see remote_call.h.
 */
#include "inject/remote/remote_call.h"

#include "arch/call_site.h"

static uint64_t read_slot(const struct hs_remote_memory *memory, uint64_t slot_va)
{
    uint64_t va = 0;
    return hs_remote_memory_read(memory, slot_va, &va, sizeof(va)) < 0 ? 0 : va;
}

uint64_t hs_remote_called(const struct hs_remote_memory *memory, uint64_t return_va)
{
    uint8_t site[HS_CALL_SITE_BYTES], stub[HS_CALL_STUB_BYTES];
    struct hs_callee callee;
    uint64_t slot_va;
    if (hs_remote_memory_read(memory, return_va - sizeof(site), site, sizeof(site)) < 0 ||
        !hs_call_site_read(site, return_va, &callee)) {
        return 0;
    }
    if (callee.is_slot) {
        return read_slot(memory, callee.va);
    }
    bool is_stub = hs_remote_memory_read(memory, callee.va, stub, sizeof(stub)) == 0 &&
                   hs_call_stub_read(stub, callee.va, &slot_va);
    return is_stub ? read_slot(memory, slot_va) : callee.va;
}
