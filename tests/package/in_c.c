#include <stdio.h>
#include "affine.h"
int main(void) {
  affine_context* context;
  float x[4] = {1, 2, 3, 4}, y[3];
  if (affine_create(&context, 1, NULL) || affine_infer(context, x, y)) return puts(affine_error(context)), 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  affine_destroy(context);
  return 0;
}
