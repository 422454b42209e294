#ifndef CRYOLITE_TENSOR_H
#define CRYOLITE_TENSOR_H

#include <stdint.h>

/* Element types of struct cryolite_tensor: those of the compiler, in its order. */
enum cryolite_type {
  CRYOLITE_UNDEFINED = 0,
  CRYOLITE_FLOAT32 = 1,
  CRYOLITE_FLOAT64 = 2,
  CRYOLITE_FLOAT16 = 3,
  CRYOLITE_BFLOAT16 = 4,
  CRYOLITE_INT8 = 5,
  CRYOLITE_INT16 = 6,
  CRYOLITE_INT32 = 7,
  CRYOLITE_INT64 = 8,
  CRYOLITE_UINT8 = 9,
  CRYOLITE_UINT16 = 10,
  CRYOLITE_UINT32 = 11,
  CRYOLITE_UINT64 = 12,
  CRYOLITE_BOOL = 13
};

/* A tensor in memory. Axes in ONNX's order, outermost first; strides in elements, of any sign. */
struct cryolite_tensor {
  void* data;
  int type; /* enum cryolite_type */
  int rank;
  const int64_t* extents;
  const int64_t* strides;
};

#endif
