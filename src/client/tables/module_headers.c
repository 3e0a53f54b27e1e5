/*
 * See module_headers.h.
 */
#include "client/tables/module_headers.h"

#include <elf.h>
#include <link.h>

#include "rt/base.h"
#include "rt/sys.h"

struct headers {
    const ElfW(Phdr) * phdrs;
    uint32_t count;
};

static bool is_range_readable(uint64_t va, uint64_t bytes)
{
    return hs_sys_is_readable(va & ~UINT64_C(7)) &&
           hs_sys_is_readable((va + bytes - 1) & ~UINT64_C(7));
}

/* Do the headers at `va` say themselves that the byte at `off` in the file is loaded there? */
static bool are_headers_at(const struct headers *headers, uint64_t bias_va, uint64_t off,
                           uint64_t va)
{
    for (uint32_t i = 0; i < headers->count; i++) {
        const ElfW(Phdr) *ph = &headers->phdrs[i];
        if (ph->p_type == PT_LOAD && off >= ph->p_offset && off - ph->p_offset < ph->p_filesz &&
            bias_va + ph->p_vaddr + (off - ph->p_offset) == va) {
            return true;
        }
    }
    return false;
}

/* The program headers of the object mapped at start_va, if they are mapped there. They follow the
 * file's header. Programs that rewrite an object (BOLT, patchelf) move them to its end, into a
 * segment of their own, where the offset in the file is also the offset from the start. */
static struct headers read_headers(uint64_t start_va, uint64_t end_va, uint64_t bias_va)
{
    const struct headers none = { NULL, 0 };
    const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)start_va;
    if (end_va - start_va < sizeof(*ehdr) || !hs_sys_is_readable(start_va) ||
        ehdr->e_ident[0] != 0x7f || ehdr->e_ident[1] != 'E' || ehdr->e_ident[2] != 'L' ||
        ehdr->e_ident[3] != 'F' || ehdr->e_phentsize != sizeof(ElfW(Phdr))) {
        return none;
    }
    uint64_t off = ehdr->e_phoff, bytes = (uint64_t)ehdr->e_phnum * sizeof(ElfW(Phdr));
    if (bytes == 0 || off % 8 != 0 || off > end_va - start_va || bytes > end_va - start_va - off) {
        return none;
    }
    struct headers found = { (const ElfW(Phdr) *)(start_va + off), ehdr->e_phnum };
    bool is_first_page = off + bytes <= 4096;
    if (!is_first_page && (!is_range_readable(start_va + off, bytes) ||
                           !are_headers_at(&found, bias_va, off, start_va + off))) {
        return none;
    }
    return found;
}

/* Copies the GNU build id out of a note segment. */
static void read_build_id(const uint8_t *notes, uint64_t size_bytes, struct hs_module_v1 *module)
{
    uint64_t off = 0;
    while (off + sizeof(ElfW(Nhdr)) <= size_bytes) {
        const ElfW(Nhdr) *note = (const void *)(notes + off);
        uint64_t name_off = off + sizeof(*note);
        uint64_t desc_off = name_off + hs_align_up(note->n_namesz, 4);
        uint64_t next_off = desc_off + hs_align_up(note->n_descsz, 4);
        if (next_off > size_bytes || next_off <= off) {
            return;
        }
        const uint8_t *name = notes + name_off;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && name[0] == 'G' &&
            name[1] == 'N' && name[2] == 'U') {
            uint32_t len = note->n_descsz < HS_BUILD_ID_BYTES ? note->n_descsz : HS_BUILD_ID_BYTES;
            for (uint32_t i = 0; i < len; i++) {
                module->build_id[i] = notes[desc_off + i];
            }
            module->build_id_bytes = (uint8_t)len;
            return;
        }
        off = next_off;
    }
}

void hs_module_headers_describe(uint64_t eh_frame_va, struct hs_module_v1 *module,
                                struct hs_unwind_module *unwind)
{
    struct headers headers = read_headers(module->start_va, module->end_va, module->bias_va);
    for (uint32_t i = 0; i < headers.count; i++) {
        const ElfW(Phdr) *ph = &headers.phdrs[i];
        uint64_t va = module->bias_va + ph->p_vaddr;
        bool is_inside =
            va >= module->start_va && va < module->end_va && ph->p_memsz <= module->end_va - va;
        if (!is_inside) {
            continue;
        }
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && module->exec_bytes == 0) {
            module->exec_off = ph->p_offset;
            module->exec_sva = ph->p_vaddr;
            module->exec_bytes = ph->p_memsz;
            unwind->text = (struct hs_span){ (const uint8_t *)va, va, ph->p_memsz };
        } else if (ph->p_type == PT_NOTE && module->build_id_bytes == 0) {
            read_build_id((const uint8_t *)va, ph->p_memsz, module);
        } else if (ph->p_type == PT_GNU_EH_FRAME) {
            unwind->eh_hdr = (struct hs_span){ (const uint8_t *)va, va, ph->p_memsz };
        }
    }
    /* .eh_frame lies in the same loaded segment as its header. */
    uint64_t hdr_va = unwind->eh_hdr.va ? unwind->eh_hdr.va : eh_frame_va;
    for (uint32_t i = 0; i < headers.count && hdr_va; i++) {
        const ElfW(Phdr) *ph = &headers.phdrs[i];
        uint64_t va = module->bias_va + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && hdr_va >= va && hdr_va < va + ph->p_memsz) {
            unwind->eh_frame = (struct hs_span){ (const uint8_t *)va, va, ph->p_memsz };
        }
    }
}
