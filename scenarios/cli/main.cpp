#include "scenarios/cli/command.h"

int main(int argc, char** argv) { return paceline::cli::run_main(argc, argv); }
