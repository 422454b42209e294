/* What the runtime's own files share. */
#ifndef CRYOLITE_INTERNAL_H
#define CRYOLITE_INTERNAL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "HalideRuntime.h"
#include "cryolite_runtime.h"

enum { cryolite_error_capacity = 512 };
#define CRYOLITE_MAGIC UINT64_C(0x6574696c6f797263) /* "cryolite" */

/* A piece of scratch memory that a kernel may hold. */
typedef struct cryolite_slot {
  char* memory;
  int64_t bytes;
  atomic_int taken;
} cryolite_slot;

/* A block beyond the slots, kept for the next run. */
typedef struct cryolite_block {
  struct cryolite_block* next;
  int64_t bytes;
  atomic_int taken;
} cryolite_block;

struct cryolite_context {
  uint64_t magic; /* first: tells our contexts from other programs' user contexts */
  const cryolite_model* model;
  int threads;

  char* arena;
  char* scratch;
  int64_t scratch_bytes;
  cryolite_slot* slots;        /* of all steps, one after the other */
  const int32_t* slot_begin;   /* by step, step_count + 1 entries */
  int step;                    /* the one that runs */
  _Atomic(cryolite_block*) blocks;

  const char* weights;
  void* mapping;
  size_t mapping_bytes;

  halide_buffer_t* buffers;
  halide_dimension_t* dimensions;
  void** arguments;            /* of all steps, one after the other: &self, then pointers to buffers */
  int32_t* argument_begin;     /* by step */
  void* self;

  halide_buffer_t* device_homes;      /* device targets: arena, weights, inputs, outputs as flat memory */
  halide_dimension_t* device_home_dimensions;
  int device_home_count;
  bool has_device;

  atomic_int has_error;
  char error[cryolite_error_capacity];
};

/* Notes a failure's text; the first one since the start of the run is kept. */
void cryolite_note(cryolite_context* context, const char* format, ...);
/* The context behind a kernel's user context, or NULL where it is somebody else's. */
cryolite_context* cryolite_context_of(void* user_context);

/* memory.c */
void* cryolite_map(int64_t bytes, bool touch); /* zeroed, aligned to a page or better; NULL where memory is out */
void cryolite_unmap(void* memory, int64_t bytes);
int cryolite_scratch_create(cryolite_context* context);
void cryolite_scratch_destroy(cryolite_context* context);

/* weights.c */
int cryolite_weights_open(cryolite_context* context, const char* path);

/* threads.c */
int cryolite_threads_start(int threads);

/* device.c */
int cryolite_device_create(cryolite_context* context);
void cryolite_device_destroy(cryolite_context* context);
int cryolite_device_upload_inputs(cryolite_context* context);
int cryolite_device_before_host_step(cryolite_context* context, const cryolite_step* step);
int cryolite_device_after_host_step(cryolite_context* context, const cryolite_step* step);
int cryolite_device_download_outputs(cryolite_context* context);

#endif
