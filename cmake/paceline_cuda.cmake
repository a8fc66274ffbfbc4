# CUDA and NCCL, where they are: PACELINE_CUDA says whether device code can be compiled. C++20 in it
# came with CUDA 12, communicators that do not block with NCCL 2.14.
set(PACELINE_CUDA OFF)
option(PACELINE_WITH_CUDA "Build the backends of GPUs where CUDA is found" ON)
if(PACELINE_WITH_CUDA)
  find_package(CUDAToolkit 12 QUIET)
endif()
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
  message(STATUS "CUDA 12 or newer was not found, or not looked for")
endif()

# What our backends link: the libraries, or in targets with the property PACELINE_STAND_IN what stands
# in their place where there is no GPU (tests/device_stand_in).
if(PACELINE_CUDA)
  add_library(paceline_cudart INTERFACE)
  target_link_libraries(paceline_cudart INTERFACE
    $<BUILD_INTERFACE:$<IF:$<BOOL:$<TARGET_PROPERTY:PACELINE_STAND_IN>>,cudart_stand_in,CUDA::cudart_static>>
    $<INSTALL_INTERFACE:CUDA::cudart_static>)
  target_include_directories(paceline_cudart SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  if(NCCL_FOUND)
    add_library(paceline_nccl INTERFACE)
    target_link_libraries(paceline_nccl INTERFACE
      $<BUILD_INTERFACE:$<IF:$<BOOL:$<TARGET_PROPERTY:PACELINE_STAND_IN>>,nccl_stand_in,NCCL::NCCL>>
      $<INSTALL_INTERFACE:NCCL::NCCL>)
    target_include_directories(paceline_nccl SYSTEM INTERFACE "${NCCL_INCLUDE_DIR}")
  endif()
endif()
