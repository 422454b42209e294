#include "extern_ops.h"

#include <string.h>

/* A heap of indices stands in the output itself: its root is the worst element kept so far. Elements are
   compared through integer keys of the same order, so that one function serves every type. */

static int64_t size_of(int type) {
  switch (type) {
    case CRYOLITE_FLOAT64: case CRYOLITE_INT64: case CRYOLITE_UINT64: return 8;
    case CRYOLITE_FLOAT32: case CRYOLITE_INT32: case CRYOLITE_UINT32: return 4;
    case CRYOLITE_FLOAT16: case CRYOLITE_BFLOAT16: case CRYOLITE_INT16: case CRYOLITE_UINT16: return 2;
    case CRYOLITE_INT8: case CRYOLITE_UINT8: case CRYOLITE_BOOL: return 1;
    default: return 0;
  }
}

/* Sign and magnitude as one signed number; +0 and -0 alike; every NaN above infinity, whose bits are given. */
static int64_t float_key(uint64_t bits, int width, uint64_t infinity) {
  const uint64_t sign = UINT64_C(1) << (width - 1);
  const uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity) return INT64_MAX;
  return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static int64_t key_of(const struct cryolite_tensor* tensor, int64_t offset) {
  const char* element = (const char*)tensor->data + offset * size_of(tensor->type);
  switch (tensor->type) {
    case CRYOLITE_FLOAT32: { uint32_t b; memcpy(&b, element, 4); return float_key(b, 32, UINT64_C(0x7f800000)); }
    case CRYOLITE_FLOAT64: { uint64_t b; memcpy(&b, element, 8); return float_key(b, 64, UINT64_C(0x7ff) << 52); }
    case CRYOLITE_FLOAT16: { uint16_t b; memcpy(&b, element, 2); return float_key(b, 16, UINT64_C(0x7c00)); }
    case CRYOLITE_BFLOAT16: { uint16_t b; memcpy(&b, element, 2); return float_key(b, 16, UINT64_C(0x7f80)); }
    case CRYOLITE_INT8: return *(const int8_t*)element;
    case CRYOLITE_UINT8: case CRYOLITE_BOOL: return *(const uint8_t*)element;
    case CRYOLITE_INT16: { int16_t n; memcpy(&n, element, 2); return n; }
    case CRYOLITE_UINT16: { uint16_t n; memcpy(&n, element, 2); return n; }
    case CRYOLITE_INT32: { int32_t n; memcpy(&n, element, 4); return n; }
    case CRYOLITE_UINT32: { uint32_t n; memcpy(&n, element, 4); return n; }
    case CRYOLITE_INT64: { int64_t n; memcpy(&n, element, 8); return n; }
    default: { uint64_t n; memcpy(&n, element, 8); return (int64_t)(n ^ (UINT64_C(1) << 63)); }
  }
}

/* One row of the input and its k indices in the output. */
struct row {
  const struct cryolite_tensor* in;
  int64_t base, stride;  /* of the input */
  int64_t* kept;
  int64_t kept_stride;
  int largest;
};

static int is_better(const struct row* row, int64_t a, int64_t b) {
  const int64_t key_a = key_of(row->in, row->base + a * row->stride);
  const int64_t key_b = key_of(row->in, row->base + b * row->stride);
  if (key_a == key_b) return a < b;
  return row->largest ? key_a > key_b : key_a < key_b;
}

static void sift_down(const struct row* row, int64_t at, int64_t size) {
  int64_t* kept = row->kept;
  const int64_t step = row->kept_stride;
  for (;;) {
    int64_t worst = at;
    for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < size; ++child)
      if (is_better(row, kept[worst * step], kept[child * step])) worst = child;
    if (worst == at) return;
    const int64_t index = kept[at * step];
    kept[at * step] = kept[worst * step];
    kept[worst * step] = index;
    at = worst;
  }
}

static void select_row(const struct row* row, int64_t count, int64_t k) {
  int64_t* kept = row->kept;
  const int64_t step = row->kept_stride;
  for (int64_t i = 0; i < k; ++i) kept[i * step] = i;
  for (int64_t i = k / 2; i-- > 0;) sift_down(row, i, k);
  for (int64_t i = k; i < count; ++i) {
    if (!is_better(row, i, kept[0])) continue;
    kept[0] = i;
    sift_down(row, 0, k);
  }
  for (int64_t size = k; size-- > 1;) {
    const int64_t index = kept[0];
    kept[0] = kept[size * step];
    kept[size * step] = index;
    sift_down(row, 0, size);
  }
}

static int fits(const struct cryolite_tensor* in, const struct cryolite_tensor* values,
                const struct cryolite_tensor* indices, int64_t axis) {
  if (size_of(in->type) == 0 || values->type != in->type || indices->type != CRYOLITE_INT64) return 0;
  if (axis < 0 || axis >= in->rank || values->rank != in->rank || indices->rank != in->rank) return 0;
  for (int a = 0; a < in->rank; ++a) {
    if (values->extents[a] != indices->extents[a]) return 0;
    if (a != axis && values->extents[a] != in->extents[a]) return 0;
  }
  return values->extents[axis] <= in->extents[axis];
}

int cryolite_extern_topk(const struct cryolite_tensor* in, int n_in, struct cryolite_tensor* out, int n_out,
                         const int64_t* params, int n_params) {
  if (n_in < 1 || n_out < 2 || n_params < 2) return -1;
  const int64_t axis = params[0];
  const struct cryolite_tensor *values = &out[0], *indices = &out[1];
  if (!fits(in, values, indices, axis)) return -1;
  const int64_t k = values->extents[axis], bytes = size_of(in->type);
  int64_t rows = k > 0 ? 1 : 0;
  for (int a = 0; a < in->rank; ++a)
    if (a != axis) rows *= in->extents[a];
  if (rows > 0 && !(in->data && values->data && indices->data)) return -1;
  for (int64_t n = 0; n < rows; ++n) {
    int64_t rest = n, from = 0, to = 0, to_index = 0;
    for (int a = in->rank; a-- > 0;) {
      if (a == axis) continue;
      const int64_t at = rest % in->extents[a];
      rest /= in->extents[a];
      from += at * in->strides[a];
      to += at * values->strides[a];
      to_index += at * indices->strides[a];
    }
    const struct row row = {in, from, in->strides[axis], (int64_t*)indices->data + to_index, indices->strides[axis],
                            params[1] != 0};
    select_row(&row, in->extents[axis], k);
    for (int64_t i = 0; i < k; ++i)
      memcpy((char*)values->data + (to + i * values->strides[axis]) * bytes,
             (const char*)in->data + (from + row.kept[i * row.kept_stride] * row.stride) * bytes, (size_t)bytes);
  }
  return 0;
}
