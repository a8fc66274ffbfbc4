# What every target of ours has in common.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(PACELINE_SANITIZE "" CACHE STRING "Sanitizers for all targets, as -fsanitize= takes them")

# Warnings are errors for our own code; third parties come in as SYSTEM.
add_library(paceline_options INTERFACE)
target_compile_features(paceline_options INTERFACE cxx_std_20)
target_include_directories(paceline_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(paceline_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of string concatenations in its own headers (GCC bugs 105329 and 105651).
  target_compile_options(paceline_options INTERFACE -Wno-restrict)
endif()
if(PACELINE_SANITIZE)
  target_compile_options(paceline_options INTERFACE
    -fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(paceline_options INTERFACE -fsanitize=${PACELINE_SANITIZE})
endif()

# paceline_library(NAME DIRECTORIES... ): a static library of all .cpp files below the directories.
function(paceline_library name)
  set(sources "")
  foreach(directory IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
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
