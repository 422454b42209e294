/* What a model's inputs and outputs are. Stands in every generated header; the first one included defines it. */
#ifndef CRYOLITE_DESCRIPTION_DEFINED
#define CRYOLITE_DESCRIPTION_DEFINED
#include <stdint.h>

typedef enum cryolite_element {
  CRYOLITE_FLOAT32 = 1,
  CRYOLITE_FLOAT64,
  CRYOLITE_FLOAT16,  /* IEEE half, as uint16_t */
  CRYOLITE_BFLOAT16, /* upper half of a float, as uint16_t */
  CRYOLITE_INT8,
  CRYOLITE_INT16,
  CRYOLITE_INT32,
  CRYOLITE_INT64,
  CRYOLITE_UINT8,
  CRYOLITE_UINT16,
  CRYOLITE_UINT32,
  CRYOLITE_UINT64,
  CRYOLITE_BOOL /* one byte, 0 or 1 */
} cryolite_element;

typedef struct cryolite_description {
  const char* name;       /* as in the ONNX model */
  cryolite_element element;
  int rank;
  const int64_t* extents; /* outermost first, as in the ONNX model; memory is dense and row-major */
  int64_t bytes;
} cryolite_description;
#endif
