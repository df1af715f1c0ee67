// SPDX-License-Identifier: MIT
// `unmoor bench report`: tables and a picture from files of `unmoor bench ... --json`.
#pragma once

namespace CLI {
class App;
}

namespace unmoor::cli::bench {

// Adds the subcommand; `code` gets its exit code when it has run.
void add_report(CLI::App& app, int& code);

}  // namespace unmoor::cli::bench
