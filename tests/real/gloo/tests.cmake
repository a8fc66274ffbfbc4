# A measured step beside PyTorch's own; skipped where Debian's python3 has no torch.
if(TARGET paceline_backend_gloo AND EXISTS /usr/bin/python3)
  add_test(NAME Gloo.AMeasuredStepTakesAsLongAsWithTorch COMMAND /usr/bin/python3
    "${CMAKE_CURRENT_SOURCE_DIR}/bench/ddp_against_torch.py" --loopback --bound 15
    --build "${PROJECT_BINARY_DIR}")
  set_tests_properties(Gloo.AMeasuredStepTakesAsLongAsWithTorch PROPERTIES
    SKIP_RETURN_CODE 77 RUN_SERIAL TRUE TIMEOUT ${PACELINE_TEST_SECONDS})
endif()
