// The Tune workspace with a runner that is scripted.
#pragma once

#include <nlohmann/json.hpp>

#include "headless.hpp"
#include "tune_commands.hpp"

namespace fathom::ui::tests {

using Json = nlohmann::ordered_json;

inline std::string document(const char* status, double ms, const Json& more = Json::object()) {
  Json json{{"status", status}, {"device", "cpu"}, {"max_error", 1e-6}, {"bound", 2e-6}, {"cold_ms", 2 * ms},
            {"warm_ms", ms},    {"p20", ms * 0.9}, {"p80", ms * 1.1},   {"n", 12},       {"conditions", {{"threads", 2}, {"dims", "R=8"}}}};
  json.update(more);
  return json.dump();
}

/// Answers from a list; a hang waits to be cancelled.
class Scripted : public Runner {
 public:
  struct Line {
    RunAnswer answer;
    bool hangs = false;
  };
  void says(std::string out, int status = 0, std::string err = {}) {
    lines.push_back({{RunEnd::exited, status, {}, std::move(out), std::move(err)}, false});
  }
  void ends(RunEnd end, std::string why = {}) { lines.push_back({{end, 0, std::move(why), {}, {}}, false}); }
  void hangs() { lines.push_back({{}, true}); }

  std::vector<std::string> command(const RunOrder& order) override {
    return {"/opt/fathom", order.against ? "time" : "run", "it's.fathom", "--target", order.inputs.target, "--json"};
  }
  RunAnswer run(const RunOrder& order, const Cancel& cancel) override {
    orders.push_back(order);
    const bool is_scripted = next < lines.size();
    const Line line = is_scripted ? lines[next++] : Line{{RunEnd::exited, 0, {}, document("ok", 1), {}}, false};
    while (line.hangs && !cancel.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return line.hangs ? RunAnswer{RunEnd::cancelled, 0, {}, {}, {}} : line.answer;
  }
  std::vector<Line> lines;
  std::size_t next = 0;
  std::vector<RunOrder> orders;  ///< read when no run is under way
};

/// Small enough to be compiled in no time, with choices and two fusions.
inline constexpr const char* program =
    "dim R = 64, C = 256\noperator f(x: f32[R,C]) -> (y: f32[R,C])\n{\n  y[i,j] = softmax[j](x[i,j])\n}\n";

class Tune : public Explorer, public testing::Test {
 protected:
  explicit Tune(float width = 1280, float height = 800) : Explorer(width, height), runner(std::make_shared<Scripted>()) {
    app.trials.runner = runner;
    EXPECT_FALSE(write_whole("f.fathom", program));
    open("f.fathom");
    until_checked();
    run_command(app, "workspace.tune");
    frame();
    frame();
  }
  void until_idle() {
    constexpr int most_waits = 6000;
    for (int i = 0; i < most_waits && app.trials.is_busy(); ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(app.trials.is_busy());
    frame();
    frame();
  }
  void until_running() {
    constexpr int most_waits = 6000;
    for (int i = 0; i < most_waits && !app.trials.is_running(); ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void run() {
    EXPECT_TRUE(run_command(app, "run.plan"));
    until_idle();
  }
  /// Takes another choice at the first tile of the plan.
  void take_other_tile() {
    for (const Decision& decision : app.document.shown()->compilation().record.decisions)
      if (decision.kind == "tile")
        for (const Alternative& each : decision.alternatives)
          if (!each.refused && each.choice != decision.choice) {
            app.document.change(
                [site = decision.site, choice = each.choice](session::Session& s) { return s.override_choice(site, choice); });
            settle();
            return until_checked();
          }
    ADD_FAILURE() << "no tile could be another";
  }
  [[nodiscard]] std::string text(const std::string& item) const {
    const MirrorItem* found = mirror().find(item);
    return found == nullptr ? "(no such item)" : found->text;
  }
  std::shared_ptr<Scripted> runner;
};

}  // namespace fathom::ui::tests
