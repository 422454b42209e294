/* Scratch memory of kernels: Halide's allocator is replaced, so that a run takes all it needs from blocks that live
 * as long as the context. Fresh pages on each run would cost about as much as the arithmetic. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

enum {
  slot_alignment = 128,    /* bytes: two cache lines, the unit of prefetching */
  slot_guard = 128,        /* bytes: kernels may read a vector before and past an allocation */
};
static const int64_t huge_page = 2 << 20;

static int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

void* cryolite_map(int64_t bytes, bool touch) {
  if (bytes <= 0) bytes = 1;
  void* memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#endif
  if (touch) memset(memory, 0, (size_t)bytes);
  return memory;
}

void cryolite_unmap(void* memory, int64_t bytes) {
  if (memory) munmap(memory, (size_t)(bytes > 0 ? bytes : 1));
}

static int slot_count_of(const cryolite_scratch* scratch, int threads) { return scratch->in_parallel ? threads : 1; }

/* Slots of one step lie side by side; steps lie over each other, since only one runs at a time. */
int cryolite_scratch_create(cryolite_context* context) {
  const cryolite_model* model = context->model;
  int32_t* begin = calloc((size_t)model->step_count + 1, sizeof *begin);
  if (!begin) return CRYOLITE_OUT_OF_MEMORY;
  context->slot_begin = begin;
  for (int s = 0; s < model->step_count; ++s) {
    int64_t bytes = slot_guard;
    begin[s + 1] = begin[s];
    for (int i = 0; i < model->steps[s].scratch_count; ++i) {
      const cryolite_scratch* scratch = &model->steps[s].scratch[i];
      const int count = slot_count_of(scratch, context->threads);
      begin[s + 1] += count;
      bytes += count * round_up(scratch->bytes + slot_guard, slot_alignment);
    }
    if (bytes > context->scratch_bytes) context->scratch_bytes = bytes;
  }
  const int total = begin[model->step_count];
  if (total == 0) {
    context->scratch_bytes = 0;
    return CRYOLITE_OK;
  }
  context->slots = calloc((size_t)total, sizeof *context->slots);
  context->scratch = cryolite_map(context->scratch_bytes, true);
  if (!context->slots || !context->scratch) return CRYOLITE_OUT_OF_MEMORY;
  for (int s = 0; s < model->step_count; ++s) {
    char* memory = context->scratch + slot_guard;
    cryolite_slot* slot = context->slots + begin[s];
    for (int i = 0; i < model->steps[s].scratch_count; ++i) {
      const cryolite_scratch* scratch = &model->steps[s].scratch[i];
      for (int copy = slot_count_of(scratch, context->threads); copy > 0; --copy, ++slot) {
        slot->memory = memory;
        slot->bytes = scratch->bytes;
        memory += round_up(scratch->bytes + slot_guard, slot_alignment);
      }
    }
  }
  return CRYOLITE_OK;
}

void cryolite_scratch_destroy(cryolite_context* context) {
  cryolite_unmap(context->scratch, context->scratch_bytes);
  free(context->slots);
  free((void*)context->slot_begin);
  cryolite_block* block = atomic_load(&context->blocks);
  while (block) {
    cryolite_block* next = block->next;
    free(block);
    block = next;
  }
}

static bool take(atomic_int* taken) {
  int is_free = 0;
  return atomic_load_explicit(taken, memory_order_relaxed) == 0 &&
         atomic_compare_exchange_strong_explicit(taken, &is_free, 1, memory_order_acquire, memory_order_relaxed);
}

/* The smallest free slot that is large enough. */
static void* take_slot(cryolite_context* context, int64_t bytes) {
  cryolite_slot* const first = context->slots + context->slot_begin[context->step];
  cryolite_slot* const last = context->slots + context->slot_begin[context->step + 1];
  for (;;) {
    cryolite_slot* best = NULL;
    for (cryolite_slot* slot = first; slot != last; ++slot)
      if (slot->bytes >= bytes && (!best || slot->bytes < best->bytes) &&
          atomic_load_explicit(&slot->taken, memory_order_relaxed) == 0)
        best = slot;
    if (!best) return NULL;
    if (take(&best->taken)) return best->memory;
  }
}

static char* memory_of(cryolite_block* block) { return (char*)block + 2 * slot_alignment; }

/* For sizes that the tables do not know: a block of the heap, kept for the runs to come. */
static void* take_block(cryolite_context* context, int64_t bytes) {
  for (cryolite_block* block = atomic_load(&context->blocks); block; block = block->next)
    if (block->bytes >= bytes && block->bytes <= 2 * bytes && take(&block->taken)) return memory_of(block);
  cryolite_block* block =
      aligned_alloc(slot_alignment, (size_t)(round_up(bytes + slot_guard, slot_alignment) + 2 * slot_alignment));
  if (!block) return NULL;
  block->bytes = bytes;
  atomic_init(&block->taken, 1);
  block->next = atomic_load(&context->blocks);
  while (!atomic_compare_exchange_weak(&context->blocks, &block->next, block)) {
  }
  return memory_of(block);
}

static void* acquire(cryolite_context* context, size_t bytes) {
  void* memory = context->slots ? take_slot(context, (int64_t)bytes) : NULL;
  return memory ? memory : take_block(context, (int64_t)bytes);
}

static void release(cryolite_context* context, void* memory) {
  if (!memory) return;
  if (context->slots) {
    cryolite_slot* const last = context->slots + context->slot_begin[context->step + 1];
    for (cryolite_slot* slot = context->slots + context->slot_begin[context->step]; slot != last; ++slot)
      if (slot->memory == memory) {
        atomic_store_explicit(&slot->taken, 0, memory_order_release);
        return;
      }
  }
  for (cryolite_block* block = atomic_load(&context->blocks); block; block = block->next)
    if (memory_of(block) == memory) {
      atomic_store_explicit(&block->taken, 0, memory_order_release);
      return;
    }
}

/* Halide's allocator, replaced; pipelines of others in the same program keep the default one. */
void* halide_malloc(void* user_context, size_t bytes) {
  cryolite_context* context = cryolite_context_of(user_context);
  return context ? acquire(context, bytes) : halide_default_malloc(user_context, bytes);
}

void halide_free(void* user_context, void* memory) {
  cryolite_context* context = cryolite_context_of(user_context);
  if (context)
    release(context, memory);
  else
    halide_default_free(user_context, memory);
}
