#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "tools/cli/commands.h"

// Exit codes: 0 well, 1 the model's or the user's fault (one line on standard error), 2 usage.
int main(int argc, char** argv) {
  CLI::App app{"Cryolite turns ONNX models into linked code: fused kernels, compiled ahead of time by Halide.",
               "cryolite"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "cryolite " CRYOLITE_VERSION);
  cryolite::cli::add_compile(app);
  cryolite::cli::add_compile_group(app);
  cryolite::cli::add_plan(app);
  cryolite::cli::add_run(app);
  cryolite::cli::add_verify(app);
  cryolite::cli::add_bench(app);
  cryolite::cli::add_ops(app);
  cryolite::cli::add_device(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& usage) {
    app.exit(usage);
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "cryolite: out of memory\n");
    return 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "cryolite: %s\n", fault.what());
    return 1;
  }
  return 0;
}
