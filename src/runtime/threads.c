/* Parallel loops: Halide's pool of threads, which all contexts of a program share; a context uses at most as many
 * threads as it was made with. */
#include "internal.h"

typedef struct shared_loop {
  halide_task_t task;
  uint8_t* closure;
  int end;
  atomic_int next; /* iteration to be taken by whoever is free */
  atomic_int failure;
} shared_loop;

static int run_share(void* user_context, int worker, uint8_t* closure) {
  (void)worker;
  shared_loop* loop = (shared_loop*)closure;
  while (atomic_load_explicit(&loop->failure, memory_order_relaxed) == 0) {
    const int i = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (i >= loop->end) break;
    const int code = loop->task(user_context, i, loop->closure);
    if (code != 0) atomic_store(&loop->failure, code);
  }
  return 0;
}

/* One task a thread, each taking iterations until none is left: the pool's lock is taken once a thread instead of
 * once an iteration. */
int halide_do_par_for(void* user_context, halide_task_t task, int min, int size, uint8_t* closure) {
  cryolite_context* context = cryolite_context_of(user_context);
  if (!context) return halide_default_do_par_for(user_context, task, min, size, closure);
  if (context->threads == 1 || size <= 1) {
    for (int i = min; i < min + size; ++i) {
      const int code = task(user_context, i, closure);
      if (code != 0) return code;
    }
    return 0;
  }
  shared_loop loop = {.task = task, .closure = closure, .end = min + size};
  atomic_init(&loop.next, min);
  atomic_init(&loop.failure, 0);
  const int workers = context->threads < size ? context->threads : size;
  const int code = halide_default_do_par_for(user_context, run_share, 0, workers, (uint8_t*)&loop);
  return code != 0 ? code : atomic_load(&loop.failure);
}

static int do_nothing(void* user_context, int worker, uint8_t* closure) {
  (void)user_context, (void)worker, (void)closure;
  return 0;
}

/* Grows the pool to `threads` and starts them, so that no run has to. */
int cryolite_threads_start(int threads) {
  static atomic_int largest;
  int before = atomic_load(&largest);
  while (before < threads && !atomic_compare_exchange_weak(&largest, &before, threads)) {
  }
  if (before >= threads || threads == 1) return CRYOLITE_OK;
  halide_set_num_threads(threads);
  return halide_default_do_par_for(NULL, do_nothing, 0, threads, NULL) == 0 ? CRYOLITE_OK : CRYOLITE_KERNEL_FAILED;
}
