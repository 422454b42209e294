#include "emit/ptx_module.h"

#include <gtest/gtest.h>

namespace cryolite::emit {
namespace {

const char* part = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry kernel_a(
	.param .u64 kernel_a_param_0
)
{
	ret;
}
)";

TEST(PtxModule, GivesOneHeaderAndDistinctEntries) {
  EXPECT_EQ(merged_ptx({{"one", part}, {"two", part}}), R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry one_kernel_a(
	.param .u64 one_kernel_a_param_0
)
{
	ret;
}
.visible .entry two_kernel_a(
	.param .u64 two_kernel_a_param_0
)
{
	ret;
}
)");
}

TEST(PtxModule, TakesASharedKernelOnce) {
  EXPECT_EQ(merged_ptx({{"one", part}, {"one", part}}), merged_ptx({{"one", part}}));
}

}  // namespace
}  // namespace cryolite::emit
