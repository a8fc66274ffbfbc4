# Programs of the GPU backends on devices that are not there (README.md): in <build>/stand_in, laid
# out as a pack of tests/gpu/check.sh.
if(NOT TARGET paceline_nccl)
  return()
endif()

set(stand_in "${PROJECT_BINARY_DIR}/stand_in")
set(here "${CMAKE_CURRENT_SOURCE_DIR}/device_stand_in")
add_library(cudart_stand_in SHARED ${here}/settings.cpp ${here}/memory.cpp ${here}/stream.cpp
  ${here}/kernels.cpp ${here}/runtime.cpp)
add_library(nccl_stand_in SHARED ${here}/nccl_region.cpp ${here}/nccl_collectives.cpp
  ${here}/nccl_communicator.cpp ${here}/nccl.cpp)
foreach(library IN ITEMS cudart_stand_in nccl_stand_in)
  target_link_libraries(${library} PRIVATE paceline_options Threads::Threads)
  target_include_directories(${library} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
  # CUDA's headers are written for its own compiler.
  target_compile_options(${library} PRIVATE -Wno-unknown-pragmas -Wno-unused-function)
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${stand_in}/lib")
endforeach()
target_link_libraries(nccl_stand_in PRIVATE cudart_stand_in)
set_target_properties(nccl_stand_in PROPERTIES OUTPUT_NAME nccl SOVERSION 2)

# NAME on the stand-in: linked again with what links it.
function(paceline_on_stand_in name)
  get_target_property(sources ${name} SOURCES)
  get_target_property(folder ${name} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/$]")
  get_target_property(libraries ${name} LINK_LIBRARIES)
  add_executable(${name}_on_stand_in ${sources})
  target_link_libraries(${name}_on_stand_in PRIVATE ${libraries})
  set_target_properties(${name}_on_stand_in PROPERTIES PACELINE_STAND_IN ON
    CUDA_RUNTIME_LIBRARY None OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${stand_in}/bin")
endfunction()

foreach(program IN ITEMS paceline-worker conformance_rank collective_sweep gpu_test)
  paceline_on_stand_in(${program})
endforeach()
set(devices ENVIRONMENT "PACELINE_STAND_IN_DEVICES=8")
# Every number of devices is tried below, with buffers for a machine without one.
gtest_discover_tests(gpu_test_on_stand_in TEST_PREFIX StandIn. DISCOVERY_TIMEOUT 60
  TEST_FILTER "-*EveryNumberOfDevices:*OnOneToEightRanks" PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS} ${devices})

set(counts 262144 0 1 7 3001)
foreach(ranks RANGE 1 8)
  foreach(backend IN ITEMS nccl cuda-local)
    add_test(NAME StandIn.Conformance.${backend}.${ranks}Threads
      COMMAND conformance_rank_on_stand_in ${backend} ${ranks} ${counts})
    list(APPEND conformance StandIn.Conformance.${backend}.${ranks}Threads)
  endforeach()
  add_test(NAME StandIn.Conformance.nccl.${ranks}Processes
    COMMAND ${start_ranks} ${ranks} $<TARGET_FILE:conformance_rank_on_stand_in> nccl 0 ${counts})
  list(APPEND conformance StandIn.Conformance.nccl.${ranks}Processes)
endforeach()
set_tests_properties(${conformance} PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS} ${devices})

# What starts no GPU program itself is copied; beside it are those above, so that it starts them.
add_custom_command(OUTPUT "${stand_in}/copied" COMMENT "Programs for the stand-in"
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:paceline> $<TARGET_FILE:paceline-sim>
    $<TARGET_FILE:nvtx_ranges> $<TARGET_FILE:nvtx_recording_tool> ${here}/nvidia-smi "${stand_in}/bin"
  COMMAND ${CMAKE_COMMAND} -E touch "${stand_in}/copied"
  DEPENDS paceline paceline-sim nvtx_ranges nvtx_recording_tool ${here}/nvidia-smi
  VERBATIM)
add_custom_target(stand_in_programs ALL DEPENDS "${stand_in}/copied" paceline-worker_on_stand_in
  conformance_rank_on_stand_in collective_sweep_on_stand_in gpu_test_on_stand_in)

# NCCL without what came with 2.14.
add_library(nccl_too_old SHARED ${here}/nccl_too_old.cpp)
target_link_libraries(nccl_too_old PRIVATE paceline_options)
target_include_directories(nccl_too_old SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
set_target_properties(nccl_too_old PROPERTIES OUTPUT_NAME nccl SOVERSION 2
  LIBRARY_OUTPUT_DIRECTORY "${stand_in}/lib_too_old")

paceline_tests(stand_in_test FOLDERS device_stand_in
  LIBRARIES paceline_launch paceline_traces nlohmann_json::nlohmann_json PROPERTIES RUN_SERIAL TRUE)
target_compile_definitions(stand_in_test PRIVATE PACELINE_STAND_IN="${stand_in}")
add_dependencies(stand_in_test stand_in_programs nccl_too_old)

add_test(NAME StandIn.CheckOfAMachineWithGpus COMMAND bash ${here}/check_test.sh ${stand_in})
set_tests_properties(StandIn.CheckOfAMachineWithGpus PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS})
