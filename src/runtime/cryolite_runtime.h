/* The runtime that ships inside every archive: it interprets the const tables of a model (NAME_model.c).
 *
 *     create   maps weights, allocates arena, scratch and device memory
 *     run      fills in the caller's pointers and calls the steps one after the other; allocates nothing
 *     destroy  gives everything back
 *
 * Every function that can fail returns a cryolite_status; the text is kept in the context. Nothing here exits,
 * aborts or prints. A context is used by one thread at a time; different contexts may run at the same time.
 */
#ifndef CRYOLITE_RUNTIME_H
#define CRYOLITE_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cryolite_status {
  CRYOLITE_OK = 0,
  CRYOLITE_BAD_ARGUMENT = 1,   /* a null pointer, a thread count out of range */
  CRYOLITE_OUT_OF_MEMORY = 2,
  CRYOLITE_BAD_WEIGHTS = 3,    /* the weights file is missing, of another model, or cut off */
  CRYOLITE_NO_DEVICE = 4,      /* no driver or no device for the target */
  CRYOLITE_KERNEL_FAILED = 5,  /* a kernel or the device reported an error */
  CRYOLITE_STAGE_FAILED = 6    /* an extern stage refused its data */
};

/* Where a buffer lies at run time. */
enum cryolite_home { CRYOLITE_INPUT, CRYOLITE_OUTPUT, CRYOLITE_WEIGHT, CRYOLITE_ARENA };

/* A kernel argument. Buffers that share memory (views) name the same home and index at their own offsets. */
typedef struct cryolite_buffer {
  uint8_t home;         /* enum cryolite_home */
  uint8_t type_code;    /* as halide_type_code_t: 0 int, 1 uint, 2 float, 4 bfloat */
  uint8_t type_bits;
  uint8_t rank;         /* storage axes */
  int32_t index;        /* which input or output; -1 otherwise */
  int64_t offset;       /* bytes, of element 0, from the start of its home */
  int64_t bytes;        /* from its first element to its last */
  const int32_t* shape; /* extent and stride (elements) of each axis, innermost first */
} cryolite_buffer;

typedef struct cryolite_context cryolite_context;

/* A stage that is no Halide kernel (extern_ops.h). Arguments that are left out have no data. Returns 0, or another
 * number where the tensors do not fit. */
struct cryolite_tensor;
typedef int (*cryolite_extern_stage)(const struct cryolite_tensor* inputs, int input_count,
                                     struct cryolite_tensor* outputs, int output_count, const int64_t* parameters,
                                     int parameter_count);

/* Heap memory that a kernel asks for while it runs. */
typedef struct cryolite_scratch {
  int64_t bytes;
  int32_t in_parallel; /* asked for inside a parallel loop: once a thread */
} cryolite_scratch;

/* One kernel or extern stage. */
typedef struct cryolite_step {
  const char* name;
  int (*kernel)(void** arguments);    /* Halide's argv entry; its first argument is the context. NULL: extern */
  cryolite_extern_stage extern_stage;
  const int32_t* buffers;             /* indices into the model's buffers: inputs, then outputs; -1: left out */
  int32_t input_count;
  int32_t output_count;
  const int64_t* extern_shapes;       /* extern: for each argument, rank extents and rank strides, ONNX's order */
  const int32_t* extern_kinds;        /* extern: for each argument, its rank and enum cryolite_type */
  const int64_t* parameters;
  int32_t parameter_count;
  const cryolite_scratch* scratch;
  int32_t scratch_count;
  int32_t touches_host;               /* on a device target: reads or writes host memory */
} cryolite_step;

/* The caller's tensors: dense and row-major. */
typedef struct cryolite_argument {
  const char* name;
  int64_t bytes;
  int64_t elements;
} cryolite_argument;

struct halide_device_interface_t;

/* Changes with the tables below: one program may hold archives of several versions of the compiler. */
enum { CRYOLITE_TABLES = 1 };

typedef struct cryolite_model {
  int32_t tables;                     /* CRYOLITE_TABLES */
  const char* name;
  const char* target;                 /* Halide's target string */
  const cryolite_buffer* buffers;
  int32_t buffer_count;
  const cryolite_step* steps;
  int32_t step_count;
  const cryolite_argument* inputs;
  int32_t input_count;
  const cryolite_argument* outputs;
  int32_t output_count;
  int64_t arena_bytes;
  const unsigned char* weights;       /* inside the archive; NULL: mapped from a file */
  int64_t weight_bytes;
  uint64_t weight_hash[2];            /* of the packed weights; the file's header carries the same */
  const char* device_api;             /* NULL, "cuda", "opencl" or "vulkan" */
  const struct halide_device_interface_t* (*device_interface)(void);
} cryolite_model;

/* Makes a context. `threads`: 0 for one a core. `weights_path`: NULL for NAME.weights in the working directory where
 * weights are not in the archive; ignored where they are. On failure *context is NULL and the text is
 * cryolite_error_text(NULL), kept for the calling thread. */
int cryolite_create(const cryolite_model* model, cryolite_context** context, int threads, const char* weights_path);

/* Runs the model: one pointer to dense row-major memory for each input and output. */
int cryolite_run(cryolite_context* context, const void* const* inputs, void* const* outputs);

/* The same; `nanoseconds`, one a step of the model, gets how long each took (NULL: as cryolite_run). Kernels on a device
 * are only started: their times say nothing of how long they run. */
int cryolite_run_timed(cryolite_context* context, const void* const* inputs, void* const* outputs,
                       int64_t* nanoseconds);

void cryolite_destroy(cryolite_context* context);

/* The text of the last failure; never NULL. */
const char* cryolite_error_text(const cryolite_context* context);

#ifdef __cplusplus
}
#endif
#endif
