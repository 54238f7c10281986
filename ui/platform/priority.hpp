// Which thread goes first where the processor is short.
#pragma once

namespace fathom::ui {

/// The calling thread gives way to those that draw frames and answer keys; where the system refuses, it goes on as before.
void give_way();

}  // namespace fathom::ui
