#include <stdio.h>

#include "affine.h"
#include "peak.h"

/* argv[1]: the file with the second model's weights */
int main(int argc, char** argv) {
  affine_context* first;
  peak_context* second;
  if (affine_create(&first, 1, NULL)) return puts(affine_error(NULL)), 1;
  if (peak_create(&second, 2, argc > 1 ? argv[1] : NULL)) return puts(peak_error(NULL)), 1;
  float x[4] = {1, 2, 3, 4}, y[3], image[16], peaks[4];
  for (int i = 0; i < 16; ++i) image[i] = (float)i;
  if (affine_infer(first, x, y)) return puts(affine_error(first)), 1;
  if (peak_infer(second, image, peaks)) return puts(peak_error(second)), 1;
  printf("%g %g %g, %g %g %g %g\n", y[0], y[1], y[2], peaks[0], peaks[1], peaks[2], peaks[3]);
  peak_destroy(second);
  affine_destroy(first);
  return 0;
}
