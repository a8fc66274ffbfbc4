# Run by every build (scenarios/CMakeLists.txt): fills TEMPLATE in as OUTPUT with COMMIT, the name that
# results give the code of SOURCE_DIR. A file that says so already stays as it is, and nothing is
# compiled again.
#
# The name is that of `git describe`. Where the sources of the programs differ from the commit, as they do while they are
# edited, it ends in "-dirty." and a digest of the differences: stores of sweeps tell two such builds
# apart by it. It is "unknown" without git and in folders that are no checkout, such as an archive's.

cmake_policy(VERSION 3.25)
set(sources CMakeLists.txt cmake models traces sim real scenarios ":(exclude)*.md")

# By --git-dir no repository further up is taken for this one; worktrees have a file of that name.
function(ask_git answer)
  execute_process(COMMAND git --no-optional-locks --git-dir=.git ${ARGN}
                  WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE text ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    set(text "")
  endif()
  set(${answer} "${text}" PARENT_SCOPE)
endfunction()

ask_git(COMMIT describe --always)
if(COMMIT STREQUAL "")
  set(COMMIT "unknown")
else()
  ask_git(changes diff HEAD --binary -- ${sources})
  ask_git(added ls-files --others --exclude-standard -- ${sources})
  string(REPLACE "\n" ";" files "${added}")
  foreach(file IN LISTS files)
    file(SHA1 "${SOURCE_DIR}/${file}" content)
    string(APPEND changes "\n${file} ${content}")
  endforeach()
  if(NOT changes STREQUAL "")
    string(SHA1 digest "${changes}")
    string(SUBSTRING "${digest}" 0 8 digest)
    string(APPEND COMMIT "-dirty.${digest}")
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
