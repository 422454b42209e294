#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "emit/compile_group.h"

// Kernels are compiled by children that run this very program, as `cryolite compile-group` does.
int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "compile-group") == 0) {
    try {
      cryolite::emit::compile_group_job(argv[2]);
      return 0;
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "%s\n", fault.what());
      return 1;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
