# NVTX 3 is headers only. Its payload extension came later than the rest, so that is looked for.
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExtPayload.h
          HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NVTX REQUIRED_VARS NVTX_INCLUDE_DIR)
if(NVTX_FOUND AND NOT TARGET NVTX::NVTX)
  add_library(NVTX::NVTX INTERFACE IMPORTED)
  target_include_directories(NVTX::NVTX SYSTEM INTERFACE "${NVTX_INCLUDE_DIR}")
  target_link_libraries(NVTX::NVTX INTERFACE ${CMAKE_DL_LIBS})
endif()
