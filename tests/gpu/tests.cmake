# What needs a GPU, but for what says that there is none, is skipped without one
# (device_stand_in/tests.cmake runs all of it).
set(folders ${gpu_folders})
if(not_built)
  list(REMOVE_ITEM folders ${not_built})
endif()
paceline_tests(gpu_test FOLDERS ${folders} LIBRARIES paceline_conformance paceline_backends)

# The programs of check.sh (README.md), tried here with backends that need no GPU.
add_executable(conformance_rank real/conformance/rank.cpp real/conformance/group.cpp)
add_executable(collective_sweep gpu/sweep.cpp real/conformance/group.cpp)
foreach(program IN ITEMS conformance_rank collective_sweep)
  target_link_libraries(${program} PRIVATE paceline_conformance paceline_backends
    paceline_worker_core paceline_launch Threads::Threads)
endforeach()

set(start_ranks bash "${CMAKE_CURRENT_SOURCE_DIR}/gpu/start_ranks.sh")
add_test(NAME Gpu.ConformanceRanksAreThreads
  COMMAND conformance_rank memory 3 4099 0 1 7)
add_test(NAME Gpu.SweepFindsResultsRight
  COMMAND collective_sweep memory 2 65536 8 native ring)
set_tests_properties(Gpu.ConformanceRanksAreThreads Gpu.SweepFindsResultsRight
  PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS})
if(TARGET paceline_backend_gloo)
  add_test(NAME Gpu.ConformanceRanksAreProcesses
    COMMAND ${start_ranks} 2 $<TARGET_FILE:conformance_rank> gloo)
  add_test(NAME Gpu.PartsPassAndFail
    COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/gpu/parts_test.sh" "${PROJECT_BINARY_DIR}")
  set_tests_properties(Gpu.ConformanceRanksAreProcesses PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS} PROCESSORS 2)
  set_tests_properties(Gpu.PartsPassAndFail PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS} PROCESSORS 2)
endif()

# Exit 77 where there is a GPU.
add_test(NAME Gpu.CheckSaysAtOnceThatThereIsNone
  COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/gpu/check_test.sh" "${PROJECT_BINARY_DIR}")
set_tests_properties(Gpu.CheckSaysAtOnceThatThereIsNone PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${PACELINE_TEST_SECONDS})
