/* Weights mapped read-only from a file: 64 bytes of header, then the packed weights. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

typedef struct weights_header {
  char magic[8]; /* "CRYOWGT1" */
  int64_t bytes; /* after the header */
  uint64_t hash[2];
  char reserved[32];
} weights_header;
_Static_assert(sizeof(weights_header) == 64, "keeps the weights aligned to a cache line");

static int check(cryolite_context* context, const char* path, int64_t file_bytes) {
  const weights_header* header = context->mapping;
  const cryolite_model* model = context->model;
  if (memcmp(header->magic, "CRYOWGT1", 8) != 0) {
    cryolite_note(context, "%s: is not a weights file; give the one that was compiled with %s", path, model->name);
    return CRYOLITE_BAD_WEIGHTS;
  }
  if (header->bytes != model->weight_bytes || header->hash[0] != model->weight_hash[0] ||
      header->hash[1] != model->weight_hash[1]) {
    cryolite_note(context, "%s: holds the weights of another model or of another compilation; give the one that was "
                  "compiled with %s", path, model->name);
    return CRYOLITE_BAD_WEIGHTS;
  }
  if (file_bytes != (int64_t)sizeof *header + header->bytes) {
    cryolite_note(context, "%s: has %lld bytes instead of %lld: it is cut off or damaged; copy it again", path,
                  (long long)file_bytes, (long long)sizeof *header + (long long)header->bytes);
    return CRYOLITE_BAD_WEIGHTS;
  }
  context->weights = (const char*)context->mapping + sizeof *header;
  return CRYOLITE_OK;
}

int cryolite_weights_open(cryolite_context* context, const char* path) {
  const cryolite_model* model = context->model;
  if (model->weights || model->weight_bytes == 0) {
    context->weights = (const char*)model->weights;
    return CRYOLITE_OK;
  }
  char beside[256];
  if (!path) {
    snprintf(beside, sizeof beside, "%s.weights", model->name);
    path = beside;
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    cryolite_note(context, "%s: the weights cannot be read: %s; pass the path of %s.weights", path, strerror(errno),
                  model->name);
    if (file >= 0) close(file);
    return CRYOLITE_BAD_WEIGHTS;
  }
  if (info.st_size < (off_t)sizeof(weights_header)) {
    close(file);
    cryolite_note(context, "%s: is not a weights file: it has only %lld bytes", path, (long long)info.st_size);
    return CRYOLITE_BAD_WEIGHTS;
  }
  void* mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapping == MAP_FAILED) {
    cryolite_note(context, "%s: the weights cannot be mapped: %s", path, strerror(errno));
    return CRYOLITE_BAD_WEIGHTS;
  }
  context->mapping = mapping;
  context->mapping_bytes = (size_t)info.st_size;
  return check(context, path, (int64_t)info.st_size);
}
