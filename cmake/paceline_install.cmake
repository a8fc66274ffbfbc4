# What `cmake --install` and the package take: programs and data (component paceline), and what other
# programs build against (component paceline-dev), the libraries as components of find_package.

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME paceline)
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/paceline")

# Programs. NCCL and others may lie where only the link found them.
foreach(program IN ITEMS paceline paceline-sim paceline-worker paceline-sweep)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT paceline)
  endif()
endforeach()

# Completion, as each shell looks for it.
set(completion "${PROJECT_BINARY_DIR}/completion")
set(completion_files "")
foreach(shell IN ITEMS bash zsh fish)
  add_custom_command(OUTPUT "${completion}/${shell}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${completion}"
    COMMAND paceline completion ${shell} > "${completion}/${shell}"
    DEPENDS paceline VERBATIM)
  list(APPEND completion_files "${completion}/${shell}")
endforeach()
add_custom_target(paceline_completion ALL DEPENDS ${completion_files})
install(FILES "${completion}/bash" RENAME paceline COMPONENT paceline
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${completion}/zsh" RENAME _paceline COMPONENT paceline
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES "${completion}/fish" RENAME paceline.fish COMPONENT paceline
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

# Data: networks, devices and clusters are in the program. Scenarios, logs and prices are files too,
# to be read and copied; the program finds them (scenarios/files/shipped_input.h).
set(data "${CMAKE_INSTALL_DATADIR}/paceline")
install(DIRECTORY scenarios/library DESTINATION "${data}/scenarios" COMPONENT paceline)
install(FILES traces/torch/paceline_recorder.py traces/torch/paceline_describe.py DESTINATION "${data}/python" COMPONENT paceline)
set(doc "${CMAKE_INSTALL_DATADIR}/doc/paceline")
install(FILES README.md CHANGELOG.md scenarios/SCHEMA.md scenarios/JOB.md scenarios/report/RESULT.md
        DESTINATION "${doc}" COMPONENT paceline)
install(FILES cmake/package/copyright DESTINATION "${doc}" COMPONENT paceline)

# paceline_install_component(NAME TARGETS...): the component NAME of find_package(paceline), with its
# headers. NAME is the folder of the tree; the first of TARGETS becomes paceline::NAME.
function(paceline_install_component name main)
  set_target_properties(${main} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${main} ${ARGN} EXPORT paceline-${name}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT paceline-dev)
  install(EXPORT paceline-${name} NAMESPACE paceline:: COMPONENT paceline-dev
          DESTINATION "${package_folder}")
  install(DIRECTORY ${name} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/paceline"
          COMPONENT paceline-dev FILES_MATCHING PATTERN "*.h")
endfunction()

paceline_install_component(models paceline_models paceline_options)
paceline_install_component(traces paceline_traces paceline_chakra_wire)
if(PACELINE_WITH_SIM)
  paceline_install_component(sim paceline_flow paceline_folded)
else()
  paceline_install_component(sim paceline_folded)
endif()
paceline_install_component(scenarios paceline_cli paceline_scenarios)
set(PACELINE_HAS_GLOO OFF)
set(PACELINE_HAS_MPI OFF)
if(PACELINE_WITH_REAL)
  set(libraries paceline_real_core paceline_nvtx paceline_backends paceline_launch)
  foreach(library IN ITEMS paceline_cudart paceline_nccl paceline_cuda)
    if(TARGET ${library})
      list(APPEND libraries ${library})
    endif()
  endforeach()
  get_property(built GLOBAL PROPERTY paceline_backends)
  paceline_install_component(real paceline_real ${libraries} ${built})
  if(TARGET paceline_backend_gloo)
    set(PACELINE_HAS_GLOO ON)
  endif()
  if(TARGET paceline_backend_mpi)
    set(PACELINE_HAS_MPI ON)
  endif()
endif()

configure_package_config_file(cmake/package/paceline-config.cmake.in
  "${PROJECT_BINARY_DIR}/paceline-config.cmake" INSTALL_DESTINATION "${package_folder}")
# Until 1.0 each minor version may change everything.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/paceline-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/paceline-config.cmake"
              "${PROJECT_BINARY_DIR}/paceline-config-version.cmake"
              cmake/FindSimGrid.cmake cmake/FindNCCL.cmake
        DESTINATION "${package_folder}" COMPONENT paceline-dev)

# Packages (cpack -G DEB): one to use, one to build against. Preset package has no CUDA, whose
# libraries no package of Debian provides.
set(CPACK_PACKAGE_NAME paceline)
set(CPACK_PACKAGE_VENDOR "The Paceline authors")
set(CPACK_PACKAGE_CONTACT "The Paceline authors")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/package")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL paceline paceline-dev)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACELINE_PACKAGE_NAME paceline)
set(CPACK_DEBIAN_PACELINE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACELINE_PACKAGE_SHLIBDEPS ON)
# Started, not linked: local runs of the backend mpi.
set(CPACK_DEBIAN_PACELINE_PACKAGE_SUGGESTS openmpi-bin)
set(CPACK_COMPONENT_PACELINE_DESCRIPTION
  "predicts and measures the speedup of data-parallel training\n\
Paceline predicts how fast a training job runs on a number of GPUs, measures it with NCCL, MPI or Gloo, and \
compares the two; it finds the cheapest cluster for a job, and reads the traces of profilers.")
set(CPACK_DEBIAN_PACELINE-DEV_PACKAGE_NAME paceline-dev)
set(CPACK_DEBIAN_PACELINE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_PACELINE-DEV_DESCRIPTION
  "headers and static libraries of paceline\n\
With find_package(paceline) programs add algorithms, strategies and trace formats of their own.")
# Which packages each component of find_package needs; SimGrid only with component sim, and so on.
set(CPACK_DEBIAN_PACELINE-DEV_PACKAGE_RECOMMENDS "libfmt-dev, libsimdjson-dev, libpugixml-dev, \
libarchive-dev, zlib1g-dev, libsqlite3-dev, libprotobuf-dev")
set(CPACK_DEBIAN_PACELINE-DEV_PACKAGE_SUGGESTS "libsimgrid-dev, libgloo-dev, libopenmpi-dev, nettle-dev, \
libyaml-cpp-dev, libcli11-dev")
include(CPack)
