/* Device targets. Every home (arena, weights, each input and output of the caller) is one flat block of device
 * memory, allocated at create; a kernel's argument is a crop of its home. Data moves only by the calls below, so
 * between kernels no buffer is ever marked dirty on the host:
 *
 *     create: weights ──► device      run: inputs ──► device, kernels, outputs ──► host
 *
 * A step that touches host memory (an extern stage, a kernel with a part on the CPU) has its inputs copied back
 * before and its outputs sent up after it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { arena_home = 0, weight_home = 1, first_input_home = 2 };
enum { unit = 8 }; /* bytes of a flat block's elements: extents of Halide are 32 bits wide */

static void* library(const char* const* names) {
  for (; *names; ++names) {
    void* handle = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
    if (handle) return handle;
  }
  return NULL;
}

/* dlsym gives data pointers; C has no cast to a function's. */
static void* symbol(void* handle, const char* name, void* function_pointer) {
  void* found = dlsym(handle, name);
  memcpy(function_pointer, &found, sizeof found);
  return found;
}

/* Halide's CUDA runtime aborts where the driver is missing, so it is asked for here first. */
static int require_cuda(cryolite_context* context) {
  void* driver = library((const char* const[]){"libcuda.so.1", "libcuda.so", NULL});
  if (!driver) {
    cryolite_note(context, "no CUDA driver on this machine (libcuda.so.1 is not found); install NVIDIA's driver, or "
                  "compile the model for another target");
    return CRYOLITE_NO_DEVICE;
  }
  int (*init)(unsigned) = NULL;
  int (*count)(int*) = NULL;
  int devices = 0;
  const bool works = symbol(driver, "cuInit", &init) && symbol(driver, "cuDeviceGetCount", &count) &&
                     init(0) == 0 && count(&devices) == 0;
  if (works && devices > 0) return CRYOLITE_OK;
  cryolite_note(context, "the CUDA driver finds no GPU; check nvidia-smi, or compile the model for another target");
  return CRYOLITE_NO_DEVICE;
}

static int require_opencl(cryolite_context* context) {
  void* driver = library((const char* const[]){"libOpenCL.so.1", "libOpenCL.so", NULL});
  if (!driver) {
    cryolite_note(context, "no OpenCL on this machine (libOpenCL.so.1 is not found); install the device's driver "
                  "and ocl-icd-libopencl1, or compile the model for another target");
    return CRYOLITE_NO_DEVICE;
  }
  int (*platforms)(unsigned, void*, unsigned*) = NULL;
  unsigned count = 0;
  if (symbol(driver, "clGetPlatformIDs", &platforms) && platforms(0, NULL, &count) == 0 && count > 0)
    return CRYOLITE_OK;
  cryolite_note(context, "OpenCL has no platform here; install the device's driver, or pocl-opencl-icd for the CPU");
  return CRYOLITE_NO_DEVICE;
}

/* Only there in archives for Vulkan. */
extern void halide_vulkan_set_alloc_config(const char* config) __attribute__((weak));

static int require_vulkan(cryolite_context* context) {
  if (library((const char* const[]){"libvulkan.so.1", "libvulkan.so", NULL})) {
    /* Sizes are rounded up to 256 bytes: Halide 21's Vulkan allocator otherwise hands out buffers that are too small
     * on some devices, and the last elements are lost. The other fields are its defaults. */
    if (halide_vulkan_set_alloc_config) halide_vulkan_set_alloc_config("0:16:0:0:256");
    return CRYOLITE_OK;
  }
  cryolite_note(context, "no Vulkan loader on this machine (libvulkan.so.1 is not found); install libvulkan1 and the "
                "device's driver, or compile the model for another target");
  return CRYOLITE_NO_DEVICE;
}

static int require_device(cryolite_context* context) {
  const char* api = context->model->device_api;
  if (strcmp(api, "cuda") == 0) return require_cuda(context);
  if (strcmp(api, "opencl") == 0) return require_opencl(context);
  return require_vulkan(context);
}

static int home_of(const cryolite_model* model, const cryolite_buffer* row) {
  switch (row->home) {
    case CRYOLITE_ARENA: return arena_home;
    case CRYOLITE_WEIGHT: return weight_home;
    case CRYOLITE_INPUT: return first_input_home + row->index;
    default: return first_input_home + model->input_count + row->index;
  }
}

static int64_t home_bytes(const cryolite_model* model, int home) {
  if (home == arena_home) return model->arena_bytes;
  if (home == weight_home) return model->weight_bytes;
  home -= first_input_home;
  if (home < model->input_count) return model->inputs[home].bytes;
  return model->outputs[home - model->input_count].bytes;
}

/* A flat buffer of one-byte elements where it fits 32 bits, of eight-byte ones above. */
static void make_flat(halide_buffer_t* flat, halide_dimension_t* dimension, int64_t bytes) {
  const int element = bytes < INT32_MAX ? 1 : unit;
  memset(flat, 0, sizeof *flat);
  flat->type.code = halide_type_uint;
  flat->type.bits = (uint8_t)(8 * element);
  flat->type.lanes = 1;
  flat->dimensions = 1;
  flat->dim = dimension;
  *dimension = (halide_dimension_t){.min = 0, .extent = (int32_t)((bytes + element - 1) / element), .stride = 1};
}

static int allocate_homes(cryolite_context* context) {
  const cryolite_model* model = context->model;
  const struct halide_device_interface_t* interface = model->device_interface();
  context->device_home_count = first_input_home + model->input_count + model->output_count;
  context->device_homes = calloc((size_t)context->device_home_count, sizeof *context->device_homes);
  context->device_home_dimensions =
      calloc((size_t)context->device_home_count, sizeof *context->device_home_dimensions);
  if (!context->device_homes || !context->device_home_dimensions) return CRYOLITE_OUT_OF_MEMORY;
  for (int home = 0; home < context->device_home_count; ++home) {
    const int64_t bytes = home_bytes(model, home);
    halide_buffer_t* flat = &context->device_homes[home];
    make_flat(flat, &context->device_home_dimensions[home], bytes);
    if (bytes > 0 && halide_device_malloc(context, flat, interface) != 0) return CRYOLITE_NO_DEVICE;
  }
  return CRYOLITE_OK;
}

/* Gives a kernel's argument the part of its home's device memory that it lies in. Cut in elements of the argument's
 * own type: Vulkan hands the offset to the kernel as a number of elements. */
static int crop(cryolite_context* context, int index) {
  const cryolite_buffer* row = &context->model->buffers[index];
  const int64_t element = (row->type_bits + 7) / 8;
  const int64_t first = row->offset / element, count = (row->bytes + element - 1) / element;
  if (row->bytes == 0) return CRYOLITE_OK;
  if (row->offset % element != 0 || first + count > INT32_MAX) {
    cryolite_note(context, "the model needs more device memory in one block than 2^31 elements");
    return CRYOLITE_NO_DEVICE;
  }
  halide_dimension_t whole = {.extent = (int32_t)(first + count), .stride = 1};
  halide_dimension_t slice = {.min = (int32_t)first, .extent = (int32_t)count, .stride = 1};
  halide_buffer_t home = context->device_homes[home_of(context->model, row)];
  home.type = context->buffers[index].type;
  home.dim = &whole;
  halide_buffer_t part = {.type = home.type, .dimensions = 1, .dim = &slice};
  if (halide_device_crop(context, &home, &part) != 0) return CRYOLITE_NO_DEVICE;
  context->buffers[index].device = part.device;
  context->buffers[index].device_interface = part.device_interface;
  return CRYOLITE_OK;
}

static int upload(cryolite_context* context, int home, const void* host) {
  halide_buffer_t* flat = &context->device_homes[home];
  if (!flat->device) return 0;
  flat->host = (uint8_t*)host;
  flat->flags = halide_buffer_flag_host_dirty;
  return halide_copy_to_device(context, flat, NULL);
}

/* Contexts that hold a device. While there are any, Halide keeps the memory that kernels free, for their next run. */
static atomic_int device_contexts;

int cryolite_device_create(cryolite_context* context) {
  int code = require_device(context);
  if (code != CRYOLITE_OK) return code;
  context->has_device = true;
  if (atomic_fetch_add(&device_contexts, 1) == 0) halide_reuse_device_allocations(context, true);
  if ((code = allocate_homes(context)) != CRYOLITE_OK) return code;
  for (int b = 0; b < context->model->buffer_count; ++b)
    if ((code = crop(context, b)) != CRYOLITE_OK) return code;
  return upload(context, weight_home, context->weights) == 0 ? CRYOLITE_OK : CRYOLITE_NO_DEVICE;
}

void cryolite_device_destroy(cryolite_context* context) {
  if (context->device_homes && context->buffers)
    for (int b = 0; b < context->model->buffer_count; ++b)
      if (context->buffers[b].device) halide_device_release_crop(context, &context->buffers[b]);
  for (int home = 0; context->device_homes && home < context->device_home_count; ++home)
    if (context->device_homes[home].device) halide_device_free(context, &context->device_homes[home]);
  free(context->device_homes);
  free(context->device_home_dimensions);
  if (context->has_device && atomic_fetch_sub(&device_contexts, 1) == 1)
    halide_reuse_device_allocations(context, false);
}

int cryolite_device_upload_inputs(cryolite_context* context) {
  for (int b = 0; b < context->model->buffer_count; ++b) context->buffers[b].flags = 0;
  for (int home = first_input_home; home < first_input_home + context->model->input_count; ++home) {
    const int index = home - first_input_home;
    for (int b = 0; b < context->model->buffer_count; ++b) {
      const cryolite_buffer* row = &context->model->buffers[b];
      if (row->home != CRYOLITE_INPUT || row->index != index) continue;
      if (upload(context, home, context->buffers[b].host - row->offset) != 0) return CRYOLITE_KERNEL_FAILED;
      break;
    }
  }
  return CRYOLITE_OK;
}

int cryolite_device_before_host_step(cryolite_context* context, const cryolite_step* step) {
  for (int a = 0; a < step->input_count; ++a) {
    if (step->buffers[a] < 0) continue;
    halide_buffer_t* buffer = &context->buffers[step->buffers[a]];
    const uint8_t home = context->model->buffers[step->buffers[a]].home;
    if (!buffer->device || home == CRYOLITE_WEIGHT || home == CRYOLITE_INPUT) continue;
    buffer->flags = halide_buffer_flag_device_dirty;
    if (halide_copy_to_host(context, buffer) != 0) return CRYOLITE_KERNEL_FAILED;
  }
  return CRYOLITE_OK;
}

int cryolite_device_after_host_step(cryolite_context* context, const cryolite_step* step) {
  for (int a = step->input_count; a < step->input_count + step->output_count; ++a) {
    if (step->buffers[a] < 0) continue;
    halide_buffer_t* buffer = &context->buffers[step->buffers[a]];
    if (!buffer->device) continue;
    if (step->extern_stage) buffer->flags = halide_buffer_flag_host_dirty;
    if ((buffer->flags & halide_buffer_flag_host_dirty) && halide_copy_to_device(context, buffer, NULL) != 0)
      return CRYOLITE_KERNEL_FAILED;
  }
  return CRYOLITE_OK;
}

int cryolite_device_download_outputs(cryolite_context* context) {
  const int first = first_input_home + context->model->input_count;
  for (int home = first; home < context->device_home_count; ++home) {
    halide_buffer_t* flat = &context->device_homes[home];
    if (!flat->device) continue;
    for (int b = 0; b < context->model->buffer_count; ++b) {
      const cryolite_buffer* row = &context->model->buffers[b];
      if (row->home != CRYOLITE_OUTPUT || row->index != home - first) continue;
      flat->host = context->buffers[b].host - row->offset;
      break;
    }
    flat->flags = halide_buffer_flag_device_dirty;
    if (halide_copy_to_host(context, flat) != 0) return CRYOLITE_KERNEL_FAILED;
  }
  return CRYOLITE_OK;
}
