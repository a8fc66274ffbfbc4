# What every target of ours has in common.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(PACELINE_SANITIZE "" CACHE STRING "Sanitizers for all targets, as -fsanitize= takes them")

# Warnings are errors where CMAKE_COMPILE_WARNING_AS_ERROR says so (preset ci); third parties come in
# as SYSTEM.
add_library(paceline_options INTERFACE)
target_compile_features(paceline_options INTERFACE cxx_std_20)
target_include_directories(paceline_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/paceline>)
# Who builds against an installation has warnings of their own.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of string concatenations in its own headers (GCC bugs 105329 and 105651).
  list(APPEND warnings -Wno-restrict)
endif()
target_compile_options(paceline_options INTERFACE "$<BUILD_INTERFACE:${warnings}>")
if(PACELINE_SANITIZE)
  target_compile_options(paceline_options INTERFACE
    -fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(paceline_options INTERFACE -fsanitize=${PACELINE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # It takes variants that it instruments for uninitialised (GCC bug 105562).
    target_compile_options(paceline_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  if(PACELINE_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # SimGrid's headers have fences, which it does not see; what they order is one thread's.
    target_compile_options(paceline_options INTERFACE -Wno-tsan)
  endif()
endif()

# All sources of a folder are compiled as one (a unity build), so that what they include is read once
# and a template becomes code once; those of the folders ALONE, of the target's own, one by one. So
# names in a folder's unnamed namespaces differ: two alike are mostly one function written twice.
function(paceline_compile_by_folder target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  list(TRANSFORM arg_ALONE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    if(NOT folder IN_LIST arg_ALONE)
      string(MAKE_C_IDENTIFIER "${folder}" group)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A source that is included is none that others cannot see.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# paceline_build_fast(TARGET LEVEL [ALONE FOLDERS...]): Release compiles TARGET at -O<LEVEL>, by
# folders, with the standard headers of nearly every source precompiled.
#
# Levels: 3 where time goes into arithmetic over arrays, which GCC 12 vectorises only there; 2 where
# much is read; 1 where a run passes once, and for tests. Most of the compile time goes into code
# that templates (JSON, command lines, formatting) become in each source, and the level decides how
# much.
#
# The precompiled headers are the standard library's alone: third parties' headers belong to the
# folders that tests/tree lets include them, and read again as a precompiled one, their inline
# functions cost every source of the target as much as those that use them. Sources still include
# what they use: without PACELINE_BUILD_FAST (preset dev) each compiles alone. ccache passes by
# sources with precompiled headers in its default settings, so a compiler launcher does without.
option(PACELINE_BUILD_FAST "Precompiled headers, and cold code optimised less" OFF)
function(paceline_build_fast target level)
  if(NOT PACELINE_BUILD_FAST)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  paceline_compile_by_folder(${target} ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  set(owner paceline_standard_headers_${level})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${owner}.cpp" CONTENT "")
    add_library(${owner} OBJECT "${PROJECT_BINARY_DIR}/${owner}.cpp")
    target_link_libraries(${owner} PRIVATE paceline_options)
    target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-O${level}>)
    target_precompile_headers(${owner} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <ostream> <set>
      <span> <stdexcept> <string> <string_view> <tuple> <utility> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# paceline_library(NAME [DIRECTORIES...] [EXCEPT DIRECTORY]): a static library of all .cpp files of the
# directories; without any, of this one and those below it, but for one and those below that.
function(paceline_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCEPT" "")
  set(sources "")
  foreach(directory IN LISTS arg_UNPARSED_ARGUMENTS)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
  if(NOT arg_UNPARSED_ARGUMENTS)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
    if(arg_EXCEPT)
      list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${arg_EXCEPT}/")
    endif()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC paceline_options)
endfunction()

# paceline_embed(TARGET NAME FILES...): compiles text files into TARGET as
# std::span<const paceline::ShippedFile> paceline::shipped_NAME().
function(paceline_embed target name)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/shipped_${name}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DNAME=${name}" "-DFILES=${ARGN}"
            -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${ARGN} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
