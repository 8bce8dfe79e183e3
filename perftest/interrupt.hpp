// Ctrl-C: the first one asks all PEs to stop after the current sample, so that what was measured is
// printed and nothing is left behind; a second one ends the process as usual.
#pragma once

namespace weft::perf {

void catch_interrupts();
bool interrupted();

}  // namespace weft::perf
