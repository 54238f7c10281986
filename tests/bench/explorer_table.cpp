// Frames of the Tune workspace with 10 000 runs, drawn without a screen: the 95th percentile in milliseconds (goal: 33).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "../ui/headless.hpp"

namespace {

using namespace fathom;

/// The first run never ends by itself: all others wait behind it, and stay what they are.
class Endless : public ui::Runner {
 public:
  std::vector<std::string> command(const ui::RunOrder&) override { return {"none"}; }
  ui::RunAnswer run(const ui::RunOrder&, const ui::Cancel& cancel) override {
    while (!cancel.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {ui::RunEnd::cancelled, 0, {}, {}, {}};
  }
};

/// Milliseconds that 95 of 100 frames stay below, while the wheel turns.
double frames_ms(ui::tests::Explorer& explorer) {
  std::vector<double> times;
  constexpr int frames = 300;
  for (int i = 0; i < frames; ++i) {
    ImGui::GetIO().AddMousePosEvent(500, 650);
    ImGui::GetIO().AddMouseWheelEvent(0, i % 60 < 30 ? -3.0F : 3.0F);
    const auto begin = std::chrono::steady_clock::now();
    explorer.frame();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() * 95 / 100];
}

/// Rows of the table that are on the screen.
long rows_seen() {
  const auto& items = ui::mirror().items();
  return std::count_if(items.begin(), items.end(), [](const ui::MirrorItem& item) { return item.id.starts_with("tune/trials/row."); });
}

}  // namespace

int main() {
  constexpr int rows = 10'000;
  ui::tests::Explorer explorer;
  explorer.open("softmax");
  explorer.app.trials.runner = std::make_shared<Endless>();
  ui::run_command(explorer.app, "workspace.tune");
  for (int i = 0; i < rows; ++i) explorer.app.trials.run(explorer.app.document.shown()->compilation().inputs);
  explorer.settle();
  if (rows_seen() < 5) {
    std::fprintf(stderr, "explorer_table  the table is not on the screen\n");
    return 1;
  }
  std::printf("explorer_table  %d rows, one running: p95 of a frame %.2f ms\n", rows, frames_ms(explorer));
  explorer.app.trials.cancel();
  std::printf("explorer_table  %d rows, all done: p95 of a frame %.2f ms\n", rows, frames_ms(explorer));
  return 0;
}
