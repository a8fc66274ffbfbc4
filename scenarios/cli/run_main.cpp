#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "models/text/number.h"
#include "scenarios/build_label.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/help.h"
#include "scenarios/cli/plain_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/errors.h"
#include "scenarios/files/output_file.h"
#include "scenarios/measure/worker_ranks.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/text_form.h"

namespace paceline::cli {
namespace {

// A result that did not reach standard output is no success.
int done(int exit_code, const PlainOutput& output) {
  std::cout.flush();
  if (std::cout) return exit_code;
  std::string what = "cannot be written";
  if (output.error() != 0) what += std::string(": ") + std::strerror(output.error());
  throw BackendError("standard output", what);
}

struct Attached {
  CLI::App* app;
  std::vector<CommandOptions::Output> outputs;
  ValuesOfOptions values;
  Action action;
};

// Leaves out of the help what errors say: ranges, and which options exclude each other.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_description(const CLI::App* app) const override {
    return app->get_description() + ".\n\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_items_expected_max() > 0) {
      const std::string type = option->get_type_name().substr(0, option->get_type_name().find(':'));
      text = type == "FILE" ? " FILE" : type == "TEXT" ? " VALUE" : " NUMBER";
    }
    if (option->get_expected_max() > 1) text += "...";
    return option->get_required() ? text + " (required)" : text;
  }
};

std::string without_double_gaps(std::string text) {
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) {
    text.erase(at, 1);
  }
  return text;
}

// The commands of each heading are added together: CLI11 shows headings as it meets them.
void add_commands(CLI::App& app, std::vector<Attached>& all) {
  const auto known = commands();
  all.resize(known.size());
  for (const std::string_view heading : headings) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].heading != heading) continue;
      Attached& one = all[i];
      one.app = app.add_subcommand(std::string(known[i].name), std::string(known[i].summary));
      one.app->group(std::string(heading));
      CommandOptions options(*one.app, one.outputs, one.values);
      one.action = known[i].attach(options);
      one.app->footer(examples_text(known[i].examples) +
                      "\nExit codes and environment variables: paceline --help\n");
    }
  }
}

std::string fault_of(const CLI::ParseError& error, const std::vector<std::string>& words,
                     std::span<const Attached> all, const CLI::App& app) {
  std::vector<std::string> names;
  for (const Command& row : commands()) names.emplace_back(row.name);
  if (std::string said = fault_of_command(words, names); !said.empty()) return said;
  const auto one = std::ranges::find_if(all, [](const Attached& sub) { return sub.app->parsed(); });
  const CLI::App& parsed = one == all.end() ? app : *one->app;
  const std::string command = one == all.end() ? "" : parsed.get_name();
  std::vector<std::string> options;
  for (const CLI::Option* option : parsed.get_options()) {
    for (const auto& name : option->get_lnames()) options.push_back("--" + name);
  }
  std::string said = fault_of_options(command, parsed.remaining(), options);
  if (!said.empty()) return said;
  return fmt::format("{}; see paceline {}{}--help", error.what(), command,
                     command.empty() ? "" : " ");
}

void open_outputs(const std::vector<CommandOptions::Output>& outputs) {
  std::vector<std::string> standard;
  for (const auto& [name, file] : outputs) {
    if (file->is_standard_output()) standard.push_back(name);
  }
  if (standard.size() > 1) {
    throw InputError({"-"},
                     fmt::format("standard output takes one of {}", fmt::join(standard, ", ")),
                     "write the others to files");
  }
  for (const auto& [name, file] : outputs) {
    if (file->is_asked()) file->open();
  }
}

// As whoever started this expects of what a signal stopped; what was done by then is written.
[[nodiscard]] int ended(int exit_code) {
  if (exit_code <= exit_signal) return exit_code;
  std::signal(exit_code - exit_signal, SIG_DFL);
  (void)std::raise(exit_code - exit_signal);
  return exit_code;
}

// As COLUMNS has it, else a terminal itself; what is neither has lines as long as they are.
std::size_t width_of_output() {
  constexpr std::size_t least = 20;  // of which a column has room
  if (const char* const columns = std::getenv("COLUMNS")) {
    const auto width = number_of<std::size_t>(columns);
    if (width) return *width == 0 ? 0 : std::max(*width, least);
  }
  winsize window{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return 0;
  return window.ws_col == 0 ? 0 : std::max<std::size_t>(window.ws_col, least);
}

// By the first of these that says something (POSIX.1-2017, 8.2).
bool has_utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    for (const char* const utf8 : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(utf8) != locale.npos) return true;
    }
    return false;
  }
  return false;
}

bool is_set(const char* name, std::string_view but_for) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' && value != but_for;
}

// Plain but for terminals and CLICOLOR_FORCE; NO_COLOR (no-color.org) and dumb terminals keep bars.
TextForm form_of_output() {
  if (!is_set("CLICOLOR_FORCE", "0") && ::isatty(STDOUT_FILENO) != 1) return {};
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return {.has_colour = !is_set("NO_COLOR", "") && !is_dumb,
          .has_bars = true,
          .has_blocks = has_utf8_locale()};
}

// Said when nothing catches an error; made before, as memory may be short. Empty: it was said.
constexpr std::string_view words_before_the_limit_is_known =
    "paceline: there is not enough memory to begin\n";
std::string_view last_words = words_before_the_limit_is_known;

[[noreturn]] void end_without_memory() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    // Several threads may come here at once.
    static std::atomic_flag is_said;
    if (is_said.test_and_set()) ::pause();
    (void)!::write(STDERR_FILENO, last_words.data(), last_words.size());
    std::_Exit(exit_environment);
  } catch (...) {
  }
  std::abort();
}

// Once the limit is known.
void prepare_last_words() {
  static const std::string words = "paceline: " + out_of_memory_text() + "\n";
  last_words = words;
}

// A file that may not grow any more is a write that fails, like a full disk: no end by a signal.
void let_writes_fail() { std::signal(SIGXFSZ, SIG_IGN); }

// Over a line of progress, if a terminal shows one.
void say_warning(const std::string& line) {
  const char* const before = ::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
  std::fputs((before + ("warning: " + in_one_line(line)) + "\n").c_str(), stderr);
}

// Other ranks would wait for one that is to measure with them.
int say_bad_input(const std::string& what, std::span<const std::string> words) {
  complain(what);
  const auto is_there = [&](const char* word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (is_there("--measure") || is_there("measure")) tell_launched_ranks(what);
  return exit_bad_input;
}

int say_out_of_memory() {
  complain(out_of_memory_text());
  last_words = {};  // destructors on the way out may run out of it again
  return exit_environment;
}

}  // namespace

// Not through fmt or streams: it must not throw when standard error is gone.
void complain(const std::string& text) {
  std::fputs(("paceline: " + in_one_line(text) + "\n").c_str(), stderr);
}

int say_stopped(const std::string& done) {
  complain(fmt::format("{}; done: {}", Stopped().what(), done));
  return exit_signal + StopRequest::signal();
}

int run_main(int argc, const char* const* argv) {
  let_writes_fail();
  std::set_terminate(end_without_memory);
  const PlainOutput plain_output(std::cout), plain_errors(std::cerr);
  set_line_width(std::cout, width_of_output());
  set_text_form(std::cout, form_of_output());
  set_raw_output(std::cout, plain_output.unescaped());
  hear_warnings(say_warning);
  CLI::App app{"Predicts and measures the speedup of distributed data-parallel training",
               "paceline"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help.");
  app.require_subcommand(1);
  app.footer(examples_text(first_examples) + "\n" + help_of_all_commands());
  app.set_version_flag("--version", std::string(build_label.version), "Print the version.");
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::vector<Attached> all;  // whose elements do not move any more
  add_commands(app, all);
  try {
    hold_memory();
    prepare_last_words();
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help_or_version) {
      std::ostringstream text;
      (void)app.exit(help_or_version, text, text);
      std::cout << wrapped(without_double_gaps(text.str()));
      return done(exit_done, plain_output);
    }
    for (const auto& [sub, outputs, values, action] : all) {
      if (!sub->parsed()) continue;
      open_outputs(outputs);
      if (std::ranges::find(words, "--quiet") == words.end()) tell_reading_on_terminal();
      return ended(done(action(), plain_output));
    }
    return exit_bad_input;
  } catch (const CLI::ParseError& error) {
    return say_bad_input(fault_of(error, words, all, app), words);
  } catch (const InputError& error) {
    return say_bad_input(error.what(), words);
  } catch (const BackendError& error) {
    complain(error.what());
    return exit_environment;
  } catch (const Stopped& stopped) {  // before anything was done
    complain(stopped.what());
    return ended(exit_signal + StopRequest::signal());
  } catch (const std::bad_alloc&) {
    return say_out_of_memory();
  } catch (const std::length_error&) {  // more than any memory has
    return say_out_of_memory();
  } catch (const std::system_error& error) {  // of threads: there are no more
    complain(fmt::format("the system refuses: {}", error.what()));
    return exit_environment;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}", error.what()));
    return exit_internal;
  }
}

}  // namespace paceline::cli
