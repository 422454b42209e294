#pragma once
#include <map>
#include <string>
#include <vector>

#include "emit/traffic.h"
#include "plan/plan.h"

namespace cryolite::emit {

/// Runs a plan kernel by kernel through Halide's JIT, with the plan's own layouts and schedules; values between
/// kernels are handed over row-major. For tests: what an emitted library computes, without emitting one.
/// `target`: a Halide target string or "host"; it must be of the kind that the plan was made for.
/// `traffic`: where it is given, gets what each group moved, by id; nothing for extern stages.
std::vector<graph::Tensor> run_plan(const plan::Plan& plan, const std::vector<graph::Tensor>& inputs,
                                    const std::string& target = "host", std::map<int, Traffic>* traffic = nullptr);

}  // namespace cryolite::emit
