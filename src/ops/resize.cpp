#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "ops/access.h"
#include "ops/builder.h"
#include "ops/families.h"

/// Resize: along each axis an output position maps to a real position of the input, which is rounded
/// (nearest) or weighs 2 or 4 neighbours (linear, cubic); axes multiply.
namespace cryolite::ops {
namespace {

using graph::Graph;
using graph::Node;
using Halide::Expr;

/// What happens along one axis.
struct ResizedAxis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double start = 0, end = 1;  // region of interest, as fractions of the input (tf_crop_and_resize)
  bool is_kept() const { return from == to && scale == 1; }
};

struct Options {
  std::string mode, coordinates, rounding;
  float cubic = -0.75f, extrapolated = 0;
  bool exclude_outside = false;
};

/// An input position and its weight.
struct Tap {
  Expr position, weight;
};

Options options_of(const Node& node) {
  Options options;
  options.mode = graph::string_attribute(node, "mode", "nearest");
  options.coordinates = graph::string_attribute(node, "coordinate_transformation_mode", "half_pixel");
  options.rounding = graph::string_attribute(node, "nearest_mode", "round_prefer_floor");
  options.cubic = graph::float_attribute(node, "cubic_coeff_a", -0.75f);
  options.extrapolated = graph::float_attribute(node, "extrapolation_value", 0);
  options.exclude_outside = graph::int_attribute(node, "exclude_outside", 0) != 0;
  return options;
}

std::vector<ResizedAxis> resized_axes(const Graph& graph, const Node& node) {
  const auto from = graph.input_type(node, 0).extents(), to = graph.output_type(node).extents();
  const int rank = static_cast<int>(from.size());
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = graph::ints_attribute(node, "axes", axes);
  std::vector<ResizedAxis> resized(rank);
  for (int axis = 0; axis < rank; ++axis)
    resized[axis] = {from[axis], to[axis], static_cast<double>(to[axis]) / static_cast<double>(from[axis]), 0,
                     1};
  const auto has_elements = [&](size_t input) {
    return input < node.inputs.size() && node.inputs[input] != graph::absent &&
           graph.input_type(node, input).elements() > 0;
  };
  if (has_elements(2)) {
    const auto scales = require_constant(graph, node, 2, "scales").as_doubles();
    for (size_t i = 0; i < std::min(axes.size(), scales.size()); ++i)
      resized[graph::normalized_axis(axes[i], rank, node)].scale = scales[i];
  } else if (graph::string_attribute(node, "keep_aspect_ratio_policy", "stretch") != "stretch") {
    const auto sizes = require_constant(graph, node, 3, "sizes").as_integers();
    const bool not_larger = graph::string_attribute(node, "keep_aspect_ratio_policy", "") == "not_larger";
    std::optional<double> common;
    for (size_t i = 0; i < axes.size(); ++i) {
      const double own = static_cast<double>(sizes.at(i)) / from[graph::normalized_axis(axes[i], rank, node)];
      common = !common ? own : not_larger ? std::min(*common, own) : std::max(*common, own);
    }
    for (int64_t axis : axes) resized[graph::normalized_axis(axis, rank, node)].scale = common.value_or(1);
  }
  if (graph::string_attribute(node, "coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    const auto roi = require_constant(graph, node, 1, "regions").as_doubles();
    for (size_t i = 0; i < axes.size() && roi.size() == 2 * axes.size(); ++i) {
      ResizedAxis& axis = resized[graph::normalized_axis(axes[i], rank, node)];
      axis.start = roi[i];
      axis.end = roi[axes.size() + i];
    }
  }
  return resized;
}

/// x as a real position of the input, in float32 as other runtimes compute it: ties of `nearest` depend on
/// it.
Expr source_of(const ResizedAxis& axis, const Options& options, const Expr& at) {
  const Expr x = Halide::cast<float>(at);
  const auto scale = static_cast<float>(axis.scale);
  const auto from = static_cast<float>(axis.from), to = static_cast<float>(axis.to);
  const std::string& mode = options.coordinates;
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners") {
    const float wanted = static_cast<float>(axis.from * axis.scale);
    return wanted == 1 ? Expr(0.0f) : x * (from - 1) / (wanted - 1);
  }
  if (mode == "pytorch_half_pixel") return axis.to > 1 ? (x + 0.5f) / scale - 0.5f : Expr(0.0f);
  if (mode == "half_pixel_symmetric") {
    const double wanted = axis.from * axis.scale;
    const auto offset = static_cast<float>(axis.from / 2.0 * (1 - axis.to / wanted));
    return offset + (x + 0.5f) / scale - 0.5f;
  }
  if (mode == "tf_crop_and_resize") {
    const auto start = static_cast<float>(axis.start), end = static_cast<float>(axis.end);
    if (axis.to <= 1) return Expr(0.5f * (start + end) * (from - 1));
    return start * (from - 1) + x * ((end - start) * (from - 1) / (to - 1));
  }
  return (x + 0.5f) / scale - 0.5f;
}

/// The integer that a position rounds to, before it is clamped into the input.
Expr rounded(const std::string& mode, const Expr& x) {
  Expr whole;
  if (mode == "floor")
    whole = Halide::floor(x);
  else if (mode == "ceil")
    whole = Halide::ceil(x);
  else if (mode == "round_prefer_ceil")
    whole = Halide::floor(x + 0.5f);
  else
    whole = Halide::ceil(x - 0.5f);
  return Halide::cast<int>(whole);
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

/// Enlarging by a whole number: does every position come from position / factor? Then no float is needed.
std::optional<int> whole_factor(const ResizedAxis& axis, const Options& options) {
  const double factor = axis.scale;
  if (factor != std::floor(factor) || factor < 1 || axis.to != axis.from * factor) return std::nullopt;
  if (options.coordinates != "half_pixel" && options.coordinates != "asymmetric") return std::nullopt;
  for (int64_t x = 0; x < static_cast<int64_t>(factor); ++x) {
    const double source = options.coordinates == "asymmetric" ? x / factor : (x + 0.5) / factor - 0.5;
    if (rounded(options.rounding, source) != 0) return std::nullopt;
  }
  return static_cast<int>(factor);
}

Expr inside(const Expr& position, const ResizedAxis& axis) {
  return Halide::clamp(position, 0, static_cast<int>(axis.from) - 1);
}

std::vector<Tap> linear_taps(const ResizedAxis& axis, const Expr& source) {
  const Expr bounded = Halide::clamp(source, 0.0f, static_cast<float>(axis.from - 1));
  const Expr low = Halide::cast<int>(Halide::floor(bounded));
  const Expr fraction = bounded - Halide::cast<float>(low);
  return {{inside(low, axis), 1.0f - fraction}, {inside(low + 1, axis), fraction}};
}

/// Keys' kernel with parameter a, at distances 1 + t, t, 1 - t and 2 - t.
std::vector<Tap> cubic_taps(const ResizedAxis& axis, const Options& options, const Expr& source) {
  const Expr low = Halide::cast<int>(Halide::floor(source));
  const Expr t = source - Halide::floor(source);
  const float a = options.cubic;
  const auto near = [&](const Expr& d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0f; };
  const auto far = [&](const Expr& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  std::vector<Tap> taps;
  const Expr weights[] = {far(1.0f + t), near(t), near(1.0f - t), far(2.0f - t)};
  for (int i = 0; i < 4; ++i) {
    const Expr position = low + (i - 1);
    Expr weight = weights[i];
    if (options.exclude_outside)
      weight = Halide::select(position >= 0 && position < static_cast<int>(axis.from), weight, 0.0f);
    taps.push_back({inside(position, axis), weight});
  }
  if (!options.exclude_outside) return taps;
  const Expr sum = taps[0].weight + taps[1].weight + taps[2].weight + taps[3].weight;
  for (Tap& tap : taps) tap.weight = tap.weight / sum;
  return taps;
}

std::vector<Tap> taps_of(const ResizedAxis& axis, const Options& options, const Expr& at) {
  if (axis.is_kept() && options.coordinates != "tf_crop_and_resize") return {{at, Expr()}};
  if (options.mode == "nearest") {
    if (const auto factor = whole_factor(axis, options)) return {{at / *factor, Expr()}};
    // Strict: a multiplication by the reciprocal would move ties to the next element.
    const Expr source = Halide::strict_float(source_of(axis, options, at));
    return {{inside(rounded(options.rounding, source), axis), Expr()}};
  }
  const Expr source = source_of(axis, options, at);
  return options.mode == "linear" ? linear_taps(axis, source) : cubic_taps(axis, options, source);
}

/// Sum over the taps of axes `axis` and on, the earlier positions being chosen.
Expr weighted(const Builder& build, const std::vector<std::vector<Tap>>& taps, Index& chosen, size_t axis) {
  if (axis == taps.size()) {
    const Expr element = build.read(0, chosen);
    const bool as_is =
        std::all_of(taps.begin(), taps.end(), [](const auto& t) { return !t[0].weight.defined(); });
    return as_is || element.type() == Halide::Float(64) ? element : Halide::cast<float>(element);
  }
  Expr sum;
  for (const Tap& tap : taps[axis]) {
    chosen[axis] = tap.position;
    Expr part = weighted(build, taps, chosen, axis + 1);
    if (tap.weight.defined()) part = Halide::cast(part.type(), tap.weight) * part;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

void resize(Builder& build) {
  const auto axes = resized_axes(build.graph(), build.node());
  const Options options = options_of(build.node());
  build.define(0, [&](const Index& at) {
    std::vector<std::vector<Tap>> taps;
    Expr is_inside = Halide::Internal::const_true();
    for (size_t axis = 0; axis < at.size(); ++axis) {
      taps.push_back(taps_of(axes[axis], options, at[axis]));
      if (options.coordinates != "tf_crop_and_resize") continue;
      const Expr source = source_of(axes[axis], options, at[axis]);
      is_inside = is_inside && source >= 0.0f && source <= static_cast<float>(axes[axis].from - 1);
    }
    Index chosen(at.size());
    const Expr value = weighted(build, taps, chosen, 0);
    if (options.coordinates != "tf_crop_and_resize") return value;
    return Halide::select(is_inside, value,
                          Halide::Internal::make_const(value.type(), double{options.extrapolated}));
  });
}

void require_one_of(const Node& node, const char* name, const std::string& value,
                    std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string names;
  for (std::string_view each : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", each);
  throw Error(fmt::format("Resize's {} is \"{}\"", name, value), {.node = node.name}, "use one of " + names);
}

void check_resize(const Graph& graph, const Node& node) {
  require_inputs(node, 1);
  const Options options = options_of(node);
  require_one_of(node, "mode", options.mode, {"nearest", "linear", "cubic"});
  require_one_of(node, "coordinate_transformation_mode", options.coordinates,
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                  "tf_crop_and_resize"});
  require_one_of(node, "nearest_mode", options.rounding,
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (graph::int_attribute(node, "antialias", 0) != 0 && options.mode != "nearest")
    throw Error("Resize with antialias is not supported", {.node = node.name},
                "export it with antialias = 0");
  if (graph.input_type(node, 0).elements() == 0)
    throw Error("Resize of a tensor without elements", {.node = node.name}, "repair the model");
  resized_axes(graph, node);
}

int64_t resize_flops(const Graph& graph, const Node& node) {
  const std::string mode = graph::string_attribute(node, "mode", "nearest");
  if (mode == "nearest") return 0;
  int64_t taps = 1;
  for (const ResizedAxis& axis : resized_axes(graph, node))
    if (!axis.is_kept()) taps *= mode == "linear" ? 2 : 4;
  return 2 * taps * graph.output_type(node).elements();
}

AccessMaps resize_access(const Graph&, const Node& node) {
  AccessMaps maps(node.inputs.size(), AccessMap::Broadcast);
  const bool one_each = graph::string_attribute(node, "mode", "nearest") == "nearest";
  maps.at(0) = one_each ? AccessMap::Permute : AccessMap::Window;
  return maps;
}

constexpr Operator rows[] = {
    {"Resize", Category::Injective, Kernel::Pointwise, resize_access, resize_flops, check_resize, resize},
};

}  // namespace

std::span<const Operator> resize_operators() { return rows; }

}  // namespace cryolite::ops
