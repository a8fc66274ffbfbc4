# CUDA and NCCL, where they are: PACELINE_CUDA says whether device code can be compiled. C++20 in it
# came with CUDA 12, communicators that do not block with NCCL 2.14.
set(PACELINE_CUDA OFF)
find_package(CUDAToolkit 12 QUIET)
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
  endif()
  # From Turing on, the oldest that CUDA 13 compiles for; devices newer than the last of these
  # translate its PTX.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75 80 90)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(PACELINE_CUDA ON)
    find_package(NCCL 2.14)
  endif()
endif()
if(NOT PACELINE_CUDA)
  message(STATUS "CUDA 12 or newer was not found")
endif()
