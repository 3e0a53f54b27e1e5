/*
 * What the lines of a ledger are called. The keys are those of the report (heapscope-report(1)),
 * the words those of src/view/ledger_words.c.
 */
import type { LedgerLine } from "./documents.ts";

const WORDS: Readonly<Record<string, string>> = {
  unknown: "of a kind that this version does not know",
  malloc_used: "malloc: blocks that the program holds",
  malloc_large: "malloc: blocks that the program holds, in mappings of their own",
  malloc_binned: "malloc: free, in the lists of arenas",
  malloc_fast: "malloc: free, not yet merged with neighbours",
  malloc_cached: "malloc: free, in the lists of threads",
  malloc_top: "malloc: free, at the ends of arenas",
  malloc_internal: "malloc: its own tables",
  malloc_unread: "malloc: could not be read",
  brk: "memory from brk that is not malloc's",
  anonymous: "anonymous mappings",
  shared: "shared memory",
  stack: "stacks of threads",
  code: "code and constants of modules",
  data: "data of modules",
  file: "mapped files",
  kernel: "pages that the kernel maps into each process",
  recorder: "heapscope itself",
  mmap: "mapped by the program, with stacks (heap mmap)",
  allocator: "allocators other than the C library's malloc",
  runtime: "runtimes of languages",
};

export function ledgerKindName(kind: string): string {
  return WORDS[kind] ?? kind;
}

/* The kind, and the name of the line where it has one. */
export function ledgerLineName(line: LedgerLine): string {
  const kind = ledgerKindName(line.kind);
  return line.name ? `${kind}: ${line.name}` : kind;
}
