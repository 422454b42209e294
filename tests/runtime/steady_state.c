/* Runs a real model again and again, and counts what the runs ask of the system: allocations (malloc and its like,
 * mmap) and page faults. Both must be none once the first runs are over. Built with -DMODEL=name; the model has one
 * input and one output. Ends with 0 where all is well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define TEXT(a) #a
#define HEADER(a) TEXT(a.h)
#include HEADER(MODEL)

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static volatile int counts, allocations;

static void note(void) { if (counts) ++allocations; }
void* malloc(size_t n) { note(); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { note(); return __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { note(); return __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { note(); return __libc_memalign(a, n); }
void* memalign(size_t a, size_t n) { note(); return __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { note(); *p = __libc_memalign(a, n); return 0; }
void* mmap(void* a, size_t n, int p, int f, int d, off_t o) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  note();
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "mmap");
  return real(a, n, p, f, d, o);
}

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

typedef NAMED(MODEL, _context) context_type;

/* The system may take a page back at any time (compaction, reclaim): what counts is that runs alone need none, so the
 * best of a few batches is taken. Allocations have no such excuse. */
static int steady(context_type* context, const void* input, void* output, int through_infer) {
  enum { warm_up = 3, batches = 8, runs = 5 };
  const void* inputs[] = {input};
  void* outputs[] = {output};
  long least = -1;
  for (int batch = -1; batch < batches; ++batch) {
    if (batch == 0) counts = 1;
    const long before = page_faults();
    for (int run = 0; run < (batch < 0 ? warm_up : runs); ++run) {
      const int status = through_infer ? NAMED(MODEL, _infer)(context, input, output)
                                       : NAMED(MODEL, _run)(context, inputs, outputs);
      if (status != 0) return 3;
    }
    const long faults = page_faults() - before;
    if (batch >= 0 && (least < 0 || faults < least)) least = faults;
  }
  counts = 0;
  printf("%s: %d allocations, %ld page faults\n", through_infer ? "infer" : "run", allocations, least);
  return allocations != 0 ? 4 : least != 0 ? 5 : 0;
}

int main(void) {
  char* input = calloc(1, (size_t)NAMED(MODEL, _inputs)[0].bytes);
  char* output = calloc(1, (size_t)NAMED(MODEL, _outputs)[0].bytes);
  counts = 1;
  free(malloc(1));
  if (allocations != 1 || !input || !output) return 1; /* the hooks do count */
  counts = allocations = 0;
  for (int threads = 1; threads <= 3; ++threads) {
    context_type* context;
    if (NAMED(MODEL, _create)(&context, threads, NULL) != 0) {
      printf("%s\n", NAMED(MODEL, _error)(NULL));
      return 2;
    }
    for (int through_infer = 0; through_infer < 2; ++through_infer) {
      const int code = steady(context, input, output, through_infer);
      if (code != 0) return code;
    }
    NAMED(MODEL, _destroy)(context);
  }
  return 0;
}
