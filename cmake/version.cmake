# The commit goes into every result; it is looked up when CMake configures.
execute_process(COMMAND git rev-parse --short HEAD WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                OUTPUT_VARIABLE PACELINE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE git_failed)
if(git_failed)
  set(PACELINE_COMMIT "unknown")
endif()
