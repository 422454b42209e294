#include <array>
#include <iostream>

#include "affine.h"

int main() {
  affine::Model model(2);
  const std::array<float, 4> x{1, 2, 3, 4};
  std::array<float, 3> y;
  model.run(x, y);
  std::cout << y[0] << ' ' << y[1] << ' ' << y[2] << '\n';
}
