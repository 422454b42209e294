/* Contexts: create, run, destroy. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cryolite_tensor.h"
#include "internal.h"

enum { most_threads = 1024, most_extern_arguments = 32 };

static _Thread_local char create_error[2 * cryolite_error_capacity];

cryolite_context* cryolite_context_of(void* user_context) {
  cryolite_context* context = user_context;
  return context && context->magic == CRYOLITE_MAGIC ? context : NULL;
}

void cryolite_note(cryolite_context* context, const char* format, ...) {
  int clean = 0;
  if (!atomic_compare_exchange_strong(&context->has_error, &clean, 1)) return;
  va_list values;
  va_start(values, format);
  vsnprintf(context->error, sizeof context->error, format, values);
  va_end(values);
  for (char* c = context->error; *c; ++c)
    if (*c == '\n') *c = c[1] ? ' ' : '\0';
}

/* Halide's error handler, replaced: kernels then return an error code. */
void halide_error(void* user_context, const char* message) {
  cryolite_context* context = cryolite_context_of(user_context);
  if (context)
    cryolite_note(context, "%s", message);
  else
    halide_default_error(user_context, message);
}

/* A library does not print: Halide's runtime has remarks on what it configures. */
void halide_print(void* user_context, const char* text) {
  if (!cryolite_context_of(user_context)) halide_default_print(user_context, text);
}

const char* cryolite_error_text(const cryolite_context* context) {
  if (!context) return create_error;
  return atomic_load(&((cryolite_context*)context)->has_error) ? context->error : "";
}

static int cores(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

/* The first byte of a buffer's home that does not change between runs; NULL for the caller's memory. */
static char* fixed_home(const cryolite_context* context, const cryolite_buffer* row) {
  if (row->home == CRYOLITE_WEIGHT) return (char*)context->weights;
  return row->home == CRYOLITE_ARENA ? context->arena : NULL;
}

static int create_buffers(cryolite_context* context) {
  const cryolite_model* model = context->model;
  size_t axes = 1;
  for (int b = 0; b < model->buffer_count; ++b) axes += model->buffers[b].rank;
  context->buffers = calloc((size_t)model->buffer_count + 1, sizeof *context->buffers);
  context->dimensions = calloc(axes, sizeof *context->dimensions);
  if (!context->buffers || !context->dimensions) return CRYOLITE_OUT_OF_MEMORY;
  halide_dimension_t* dimension = context->dimensions;
  for (int b = 0; b < model->buffer_count; ++b) {
    const cryolite_buffer* row = &model->buffers[b];
    halide_buffer_t* buffer = &context->buffers[b];
    buffer->type.code = (halide_type_code_t)row->type_code;
    buffer->type.bits = row->type_bits;
    buffer->type.lanes = 1;
    buffer->dimensions = row->rank;
    buffer->dim = dimension;
    for (int axis = 0; axis < row->rank; ++axis, ++dimension) {
      dimension->extent = row->shape[2 * axis];
      dimension->stride = row->shape[2 * axis + 1];
    }
    char* home = fixed_home(context, row);
    if (home) buffer->host = (uint8_t*)home + row->offset;
  }
  return CRYOLITE_OK;
}

static int create_arguments(cryolite_context* context) {
  const cryolite_model* model = context->model;
  size_t count = 1;
  for (int s = 0; s < model->step_count; ++s)
    count += 1 + (size_t)(model->steps[s].input_count + model->steps[s].output_count);
  context->arguments = calloc(count, sizeof *context->arguments);
  context->argument_begin = calloc((size_t)model->step_count + 1, sizeof *context->argument_begin);
  if (!context->arguments || !context->argument_begin) return CRYOLITE_OUT_OF_MEMORY;
  context->self = context;
  int next = 0;
  for (int s = 0; s < model->step_count; ++s) {
    const cryolite_step* step = &model->steps[s];
    context->argument_begin[s] = next;
    context->arguments[next++] = &context->self;
    for (int a = 0; a < step->input_count + step->output_count; ++a)
      context->arguments[next++] = step->buffers[a] < 0 ? NULL : &context->buffers[step->buffers[a]];
  }
  return CRYOLITE_OK;
}

static int fill(cryolite_context* context, int threads, const char* weights_path) {
  const cryolite_model* model = context->model;
  if (threads < 0 || threads > most_threads) {
    cryolite_note(context, "%d threads asked for; give 1 to %d, or 0 for one a core", threads, most_threads);
    return CRYOLITE_BAD_ARGUMENT;
  }
  context->threads = threads > 0 ? threads : cores();
  int code = cryolite_weights_open(context, weights_path);
  if (code != CRYOLITE_OK) return code;
  if (model->arena_bytes > 0) {
    context->arena = cryolite_map(model->arena_bytes, model->device_interface == NULL);
    if (!context->arena) return CRYOLITE_OUT_OF_MEMORY;
  }
  if ((code = cryolite_scratch_create(context)) != CRYOLITE_OK) return code;
  if ((code = create_buffers(context)) != CRYOLITE_OK) return code;
  if ((code = create_arguments(context)) != CRYOLITE_OK) return code;
  if (model->device_interface && (code = cryolite_device_create(context)) != CRYOLITE_OK) return code;
  return cryolite_threads_start(context->threads);
}

int cryolite_create(const cryolite_model* model, cryolite_context** context, int threads, const char* weights_path) {
  create_error[0] = '\0';
  if (!model || !context) {
    snprintf(create_error, sizeof create_error, "create was given a null pointer");
    return CRYOLITE_BAD_ARGUMENT;
  }
  *context = NULL;
  if (model->tables != CRYOLITE_TABLES) {
    snprintf(create_error, sizeof create_error,
             "models of different versions of Cryolite are linked together; compile them with one version");
    return CRYOLITE_BAD_ARGUMENT;
  }
  cryolite_context* made = calloc(1, sizeof *made);
  int code = CRYOLITE_OUT_OF_MEMORY;
  if (made) {
    made->magic = CRYOLITE_MAGIC;
    made->model = model;
    code = fill(made, threads, weights_path);
  }
  if (code == CRYOLITE_OK) {
    *context = made;
    return code;
  }
  if (made && atomic_load(&made->has_error))
    snprintf(create_error, sizeof create_error, "%s: %s", model->name, made->error);
  else
    snprintf(create_error, sizeof create_error, "%s: %s", model->name,
             code == CRYOLITE_OUT_OF_MEMORY ? "out of memory" : "the context cannot be made");
  cryolite_destroy(made);
  return code;
}

void cryolite_destroy(cryolite_context* context) {
  if (!context) return;
  if (context->model->device_interface) cryolite_device_destroy(context);
  cryolite_scratch_destroy(context);
  cryolite_unmap(context->arena, context->model->arena_bytes);
  if (context->mapping) munmap(context->mapping, context->mapping_bytes);
  free(context->buffers);
  free(context->dimensions);
  free(context->arguments);
  free(context->argument_begin);
  context->magic = 0;
  free(context);
}

/* Points buffers at the caller's memory. */
static int bind(cryolite_context* context, const void* const* inputs, void* const* outputs) {
  const cryolite_model* model = context->model;
  if ((!inputs && model->input_count > 0) || (!outputs && model->output_count > 0)) {
    cryolite_note(context, "run was given a null array of inputs or outputs");
    return CRYOLITE_BAD_ARGUMENT;
  }
  for (int i = 0; i < model->input_count; ++i)
    if (!inputs[i] && model->inputs[i].bytes > 0) {
      cryolite_note(context, "input '%s' is a null pointer", model->inputs[i].name);
      return CRYOLITE_BAD_ARGUMENT;
    }
  for (int i = 0; i < model->output_count; ++i)
    if (!outputs[i] && model->outputs[i].bytes > 0) {
      cryolite_note(context, "output '%s' is a null pointer", model->outputs[i].name);
      return CRYOLITE_BAD_ARGUMENT;
    }
  for (int b = 0; b < model->buffer_count; ++b) {
    const cryolite_buffer* row = &model->buffers[b];
    if (row->home == CRYOLITE_INPUT) context->buffers[b].host = (uint8_t*)inputs[row->index] + row->offset;
    if (row->home == CRYOLITE_OUTPUT) context->buffers[b].host = (uint8_t*)outputs[row->index] + row->offset;
  }
  return CRYOLITE_OK;
}

static int run_extern(cryolite_context* context, const cryolite_step* step) {
  struct cryolite_tensor tensors[most_extern_arguments];
  const int count = step->input_count + step->output_count;
  if (count > most_extern_arguments) {
    cryolite_note(context, "the stage has more than %d arguments", most_extern_arguments);
    return CRYOLITE_STAGE_FAILED;
  }
  const int64_t* shape = step->extern_shapes;
  for (int a = 0; a < count; ++a) {
    const int rank = step->extern_kinds[2 * a];
    tensors[a] = (struct cryolite_tensor){.data = NULL, .type = step->extern_kinds[2 * a + 1], .rank = rank, .extents = shape,
                                          .strides = shape + rank};
    shape += 2 * rank;
    if (step->buffers[a] >= 0) tensors[a].data = context->buffers[step->buffers[a]].host;
  }
  if (step->extern_stage(tensors, step->input_count, tensors + step->input_count, step->output_count,
                         step->parameters, step->parameter_count) == 0)
    return CRYOLITE_OK;
  cryolite_note(context, "the tensors do not fit the operator");
  return CRYOLITE_STAGE_FAILED;
}

static int run_step(cryolite_context* context, int index) {
  const cryolite_step* step = &context->model->steps[index];
  const bool syncs = context->model->device_interface && (step->touches_host || step->extern_stage);
  context->step = index;
  if (syncs && cryolite_device_before_host_step(context, step) != 0) return CRYOLITE_KERNEL_FAILED;
  if (step->kernel) {
    if (step->kernel(context->arguments + context->argument_begin[index]) != 0) return CRYOLITE_KERNEL_FAILED;
  } else if (run_extern(context, step) != CRYOLITE_OK) {
    return CRYOLITE_STAGE_FAILED;
  }
  if (syncs && cryolite_device_after_host_step(context, step) != 0) return CRYOLITE_KERNEL_FAILED;
  return CRYOLITE_OK;
}

static void name_the_step(cryolite_context* context) {
  char text[cryolite_error_capacity];
  memcpy(text, context->error, sizeof text);
  const char* what = atomic_load(&context->has_error) ? text : "the kernel returned an error";
  snprintf(context->error, sizeof context->error, "node '%s': %.400s", context->model->steps[context->step].name, what);
  atomic_store(&context->has_error, 1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int cryolite_run(cryolite_context* context, const void* const* inputs, void* const* outputs) {
  return cryolite_run_timed(context, inputs, outputs, NULL);
}

int cryolite_run_timed(cryolite_context* context, const void* const* inputs, void* const* outputs,
                       int64_t* nanoseconds) {
  if (!cryolite_context_of(context)) return CRYOLITE_BAD_ARGUMENT;
  atomic_store(&context->has_error, 0);
  int code = bind(context, inputs, outputs);
  if (code != CRYOLITE_OK) return code;
  const bool on_device = context->model->device_interface != NULL;
  if (on_device && cryolite_device_upload_inputs(context) != 0) return CRYOLITE_KERNEL_FAILED;
  for (int s = 0; s < context->model->step_count; ++s) {
    const int64_t start = nanoseconds ? now() : 0;
    code = run_step(context, s);
    if (nanoseconds) nanoseconds[s] = now() - start;
    if (code != CRYOLITE_OK) {
      name_the_step(context);
      return code;
    }
  }
  if (on_device && cryolite_device_download_outputs(context) != 0) return CRYOLITE_KERNEL_FAILED;
  return CRYOLITE_OK;
}
