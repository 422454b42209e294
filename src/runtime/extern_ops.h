#ifndef CRYOLITE_EXTERN_OPS_H
#define CRYOLITE_EXTERN_OPS_H

#include "cryolite_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operators that run as functions between kernels. No function allocates memory or keeps state.
   All return 0, or -1 where the tensors do not fit the operator. */

/* ONNX TopK. in: the data. out: values, indices (int64); their extent along the axis is k. Both are needed.
   params: axis (from 0), largest (0: the smallest), sorted (the results always are).
   Equal elements: the lower index first. A NaN counts as larger than everything. n log k comparisons a row. */
int cryolite_extern_topk(const struct cryolite_tensor* in, int n_in, struct cryolite_tensor* out, int n_out,
                         const int64_t* params, int n_params);

#ifdef __cplusplus
}
#endif

#endif
