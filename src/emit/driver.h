#pragma once
#include <string>
#include <vector>

#include "emit/compile_group.h"
#include "emit/pack.h"
#include "plan/plan.h"

/// The text of the two generated files of a model: NAME.h (the C and C++ interface) and NAME_model.c (tables).
namespace cryolite::emit {

/// What the tables are made of, besides the plan.
struct DriverParts {
  std::string name;                 ///< an identifier of C
  std::string target;               ///< full target string
  std::vector<std::string> symbols;  ///< by group; empty for extern stages and groups that write nothing
  std::vector<KernelInfo> infos;    ///< by group
  WeightBlock weights;
  bool embeds_weights = true;
};

/// Constants that must be in memory at run time: weights of kernels, and every constant of an extern stage.
std::vector<graph::ValueId> stored_constants(const plan::Plan& plan);

std::string model_source(const plan::Plan& plan, const DriverParts& parts);
std::string model_header(const plan::Plan& plan, const DriverParts& parts);

/// The name of a value as a parameter of C: an identifier, no keyword. `taken` holds those given so far.
std::string parameter_name(const std::string& value, std::vector<std::string>& taken);
/// A string literal of C.
std::string c_string(const std::string& text);
/// The C type of an element: float, int64_t, …
std::string_view c_type(graph::ElementType element);

}  // namespace cryolite::emit
