# cryolite_add_model(NAME
#   MODEL file.onnx
#   [TARGETS host cuda ...]        # default: host
#   [WEIGHTS embed|file]           # default: embed; file: NAME.weights is mapped when a context is created
#   [DIMS batch=1 ...]             # fixes free dimensions
#   [SCHEDULE file]                # schedules for some or all groups
#   [DEPENDS file ...])            # further files to watch, such as the model's external data
#
# Compiles a model as part of the build and adds the library target NAME: link it, include "NAME.h". Each target after
# the first makes symbols and a header of its own, NAME_TARGET, in the same library target. The folder with all that the
# compiler wrote (NAME.plan.json, NAME.schedule, NAME.weights, ...) is NAME's property CRYOLITE_FOLDER.
function(cryolite_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL;WEIGHTS;SCHEDULE" "TARGETS;DIMS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "cryolite_add_model(${name}): bad arguments ${arg_UNPARSED_ARGUMENTS} "
                        "${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "cryolite_add_model: ${name} becomes part of C names: use letters, digits and _")
  endif()
  if(NOT arg_MODEL)
    message(FATAL_ERROR "cryolite_add_model(${name}): MODEL file.onnx is missing")
  endif()
  cmake_path(ABSOLUTE_PATH arg_MODEL BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  if(NOT arg_TARGETS)
    set(arg_TARGETS host)
  endif()
  if(NOT arg_WEIGHTS)
    set(arg_WEIGHTS embed)
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.cryolite)
  file(MAKE_DIRECTORY ${folder})
  set(options --weights ${arg_WEIGHTS})
  foreach(dim IN LISTS arg_DIMS)
    list(APPEND options --dim ${dim})
  endforeach()
  if(arg_SCHEDULE)
    cmake_path(ABSOLUTE_PATH arg_SCHEDULE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND options --schedule ${arg_SCHEDULE})
  endif()
  set(environment)
  if(CMAKE_C_COMPILER)  # for the model's tables and the runtime
    set(environment ${CMAKE_COMMAND} -E env CRYOLITE_CC=${CMAKE_C_COMPILER})
  endif()

  set(archives)
  set(headers)
  foreach(target IN LISTS arg_TARGETS)
    set(part ${name})
    if(archives)
      string(MAKE_C_IDENTIFIER ${name}_${target} part)
    endif()
    set(byproducts ${folder}/${part}.plan.json ${folder}/${part}.schedule)
    if(arg_WEIGHTS STREQUAL "file")
      list(APPEND byproducts ${folder}/${part}.weights)
    endif()
    add_custom_command(
      OUTPUT ${folder}/lib${part}.a ${folder}/${part}.h
      BYPRODUCTS ${byproducts}
      COMMAND ${environment} $<TARGET_FILE:Cryolite::cryolite> compile ${arg_MODEL} -o ${folder} --name ${part}
              --target ${target} ${options}
      DEPENDS ${arg_MODEL} ${arg_SCHEDULE} ${arg_DEPENDS} Cryolite::cryolite $<TARGET_FILE:Cryolite::cryolite>
      COMMENT "Compiling ${arg_MODEL} for ${target}"
      VERBATIM)
    list(APPEND archives ${folder}/lib${part}.a)
    list(APPEND headers ${folder}/${part}.h)
  endforeach()

  add_custom_target(${name}_cryolite DEPENDS ${archives} ${headers})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_cryolite)
  target_include_directories(${name} INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE ${archives} Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES CRYOLITE_FOLDER ${folder})
endfunction()
