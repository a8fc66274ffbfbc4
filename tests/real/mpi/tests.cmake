# The conformance suite on MPI: one CTest entry a run of mpirun.
if(NOT TARGET paceline_backend_mpi OR NOT MPIEXEC_EXECUTABLE)
  return()
endif()

add_executable(mpi_conformance_rank real/mpi/conformance_rank.cpp)
target_link_libraries(mpi_conformance_rank
  PRIVATE paceline_conformance paceline_backend_mpi MPI::MPI_CXX)

# mpi_test(NAME RANKS BTL ARGUMENTS...): RANKS processes that talk over BTL, one of Open MPI's byte
# transfer layers: vader (shared memory) or tcp. Not bound to cores: the tests have fewer.
function(mpi_test name ranks btl)
  add_test(NAME Mpi.${name} COMMAND "${MPIEXEC_EXECUTABLE}" --oversubscribe --bind-to none
    -n ${ranks} --mca btl ${btl},self $<TARGET_FILE:mpi_conformance_rank> ${ARGN})
  # Containers often allow no process to read another's memory, which vader would else try.
  set_tests_properties(Mpi.${name} PROPERTIES TIMEOUT ${PACELINE_TEST_SECONDS} PROCESSORS 2 ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;\
OMPI_MCA_btl_vader_single_copy_mechanism=none")
endfunction()

foreach(ranks IN ITEMS 1 3 5 7)
  mpi_test(DoesEveryAlgorithmOn${ranks}RanksInSharedMemory ${ranks} vader
    world float32 0 0 1 7 30011)
endforeach()
foreach(ranks IN ITEMS 2 4 6 8)
  mpi_test(DoesEveryAlgorithmOn${ranks}RanksOverTcp ${ranks} tcp world float32 0 0 1 7 30011)
endforeach()
# 30,011 elements of 4 bytes: on both sides of where Open MPI changes its algorithms, 64 KiB.
mpi_test(DoesEveryTypeOn3RanksInReverse 3 tcp reversed all 0 5 30011)
mpi_test(DoesEveryTypeOn4Ranks 4 vader world all 0 5 40007)
mpi_test(DoesEveryTypeOn8RanksInReverse 8 tcp reversed all 0 5 2003)
# 64 MiB of float32.
mpi_test(DoesLargeBuffersInPieces 4 tcp world float32 16777216 700001)

# A receive without a send, and a run of more ranks than processes.
mpi_test(SaysWhatDoesNotEnd 2 vader silent)
set_tests_properties(Mpi.SaysWhatDoesNotEnd PROPERTIES
  PASS_REGULAR_EXPRESSION "mpi: rank 0: MPI_Wait: no end within 200ms")
mpi_test(SaysThatThereAreTooFewProcesses 1 vader alone)
set_tests_properties(Mpi.SaysThatThereAreTooFewProcesses PROPERTIES
  PASS_REGULAR_EXPRESSION "mpirun started 1 processes for 2 ranks; start it with mpirun -n 2")
