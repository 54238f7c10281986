// The Tune workspace with a runner that is scripted: every way in which a run can end, the table, comparisons, export, session files; and
// one run of the real child.
#include "tune.hpp"

#include <cmath>

#include "platform/child_runner.hpp"
#include "widgets/plot.hpp"

namespace fathom::ui::tests {
namespace {

TEST_F(Tune, without_a_run_there_is_one_action) {
  EXPECT_NE(mirror().text_of("tune/trials").find("No plan was run yet."), std::string::npos);
  ASSERT_TRUE(click("tune/trials/run"));
  until_idle();
  ASSERT_EQ(app.trials.all().size(), 1U);
  EXPECT_NE(text("tune/trials/row.1").find("✓ ok"), std::string::npos);
  EXPECT_NE(text("tune/trials/row.1").find("1 ms"), std::string::npos);
  EXPECT_NE(mirror().text_of("tune/run").find("✓ verified: max error 1.0e-06 of 2.0e-06 allowed"), std::string::npos)
      << mirror().text_of("tune/run");
}

TEST_F(Tune, every_end_of_a_run_costs_one_row_and_says_what_happened) {
  runner->says(document("ok", 1));
  runner->ends(RunEnd::crashed, "segmentation fault");
  runner->ends(RunEnd::timed_out);
  runner->says(document("wrong_result", 1, {{"detail", "y[0,1] is 2 and should be 3"}}), 1);
  runner->says(document("inconclusive", 1), 1);
  runner->says("{\"status\": \"resource_limit\", \"detail\": \"4.00 TiB are needed\"}", 1);
  runner->says("", 1, "fathom: a size is missing\nmore\n");
  runner->says("Killed by \x01 garbage {", 0);
  runner->says("{\"status\": \"ok\", \"warm_ms\": null, \"max_error\": null}", 0);
  runner->says(std::string(100000, '['), 0);
  runner->ends(RunEnd::not_started, "/opt/fathom (No such file).");
  runner->says(document("ok", 2));
  const std::vector<std::pair<RunKind, std::string>> expected{{RunKind::ok, ""},
                                                              {RunKind::crashed, "The kernel crashed: segmentation fault."},
                                                              {RunKind::timed_out, "It was stopped after 120 s"},
                                                              {RunKind::wrong_result, "y[0,1] is 2 and should be 3"},
                                                              {RunKind::inconclusive, "cannot say"},
                                                              {RunKind::refused, "4.00 TiB are needed"},
                                                              {RunKind::refused, "a size is missing"},
                                                              {RunKind::unreadable, "cannot be read: Killed by"},
                                                              {RunKind::unreadable, "cannot be read"},
                                                              {RunKind::unreadable, "cannot be read"},
                                                              {RunKind::refused, "could not be started: /opt/fathom (No such file)."},
                                                              {RunKind::ok, ""}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    run();
    ASSERT_EQ(app.trials.all().size(), i + 1);
    const Trial& trial = app.trials.all().back();
    EXPECT_EQ(trial.state, TrialState::done);
    EXPECT_EQ(trial.outcome.kind, expected[i].first) << i << " " << trial.outcome.says;
    EXPECT_NE(trial.outcome.says.find(expected[i].second), std::string::npos) << trial.outcome.says;
    EXPECT_EQ(trial.is_ok(), expected[i].first == RunKind::ok);
    EXPECT_NE(mirror().text_of("tune/run").find(trial.outcome.says), std::string::npos);
  }
  EXPECT_NE(text("tune/trials/filter.failed").find("failed 9"), std::string::npos) << text("tune/trials/filter.failed");
  EXPECT_TRUE(app.trials.all().front().is_ok()) << "a crash leaves other rows alone";
}

TEST_F(Tune, a_number_that_is_none_never_becomes_a_time) {
  for (const char* broken :
       {"{\"status\":\"ok\",\"warm_ms\":-1,\"p20\":1,\"p80\":2,\"n\":3,\"max_error\":0}",
        "{\"status\":\"ok\",\"warm_ms\":1e999,\"p20\":1,\"p80\":2,\"n\":3,\"max_error\":0}",
        "{\"status\":\"ok\",\"warm_ms\":\"1\",\"p20\":1,\"p80\":2,\"n\":3,\"max_error\":0}",
        "{\"status\":\"ok\",\"warm_ms\":1,\"p20\":2,\"p80\":3,\"n\":3,\"max_error\":0}",
        "{\"status\":\"ok\",\"warm_ms\":1,\"p20\":1,\"p80\":3,\"n\":0,\"max_error\":0}",
        "{\"status\":\"ok\",\"warm_ms\":1,\"p20\":1,\"p80\":3,\"n\":3,\"max_error\":NaN}",
        "{\"status\":\"splendid\",\"warm_ms\":1,\"p20\":1,\"p80\":3,\"n\":3,\"max_error\":0}", "[]", "null", "", "7"}) {
    const Outcome outcome = outcome_of({RunEnd::exited, 0, {}, broken, {}}, std::chrono::seconds(1));
    EXPECT_EQ(outcome.kind, RunKind::unreadable) << broken;
    EXPECT_FALSE(outcome.says.empty());
  }
}

TEST_F(Tune, cancels_in_every_state_and_goes_on) {
  EXPECT_FALSE(run_command(app, "run.cancel")) << "nothing runs";
  runner->hangs();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run_command(app, "run.plan"));
  EXPECT_TRUE(run_command(app, "run.cancel"));  // all wait
  for (const Trial& each : app.trials.all()) EXPECT_EQ(each.outcome.kind, RunKind::cancelled);
  EXPECT_TRUE(run_command(app, "run.plan"));
  EXPECT_TRUE(run_command(app, "run.plan"));
  until_running();
  frame();
  EXPECT_TRUE(app.is_counting());
  EXPECT_FALSE(app.is_animating()) << "frames would be measured, too";
  EXPECT_NE(text("tune/trials/row.4").find("◌ running"), std::string::npos) << text("tune/trials/row.4");
  EXPECT_NE(text("tune/trials/row.5").find("◌ queued"), std::string::npos);
  EXPECT_NE(mirror().text_of("tune/trials").find("Run 4: running for"), std::string::npos);
  ASSERT_TRUE(click("tune/trials/cancel"));
  EXPECT_FALSE(app.trials.is_busy());
  EXPECT_EQ(app.trials.find(4)->outcome.kind, RunKind::cancelled);
  EXPECT_EQ(app.trials.find(5)->outcome.kind, RunKind::cancelled);
  run();
  EXPECT_TRUE(app.trials.find(6)->is_ok()) << "the next run is not disturbed";
  runner->hangs();
  runner->hangs();  // whoever closes the window does not wait for a run
}

TEST_F(Tune, nothing_runs_while_steps_are_checked) {
  app.document.change([](session::Session& s) { return s.set_dim("R", 128); });
  settle();
  app.trials.run(app.document.shown()->compilation().inputs);
  app.trials.collect(false);
  EXPECT_FALSE(app.trials.is_running());
  EXPECT_TRUE(app.trials.is_busy());
  until_checked();
  until_idle();
  EXPECT_TRUE(app.trials.find(1)->is_ok());
}

TEST_F(Tune, sorts_filters_and_walks_by_keys) {
  runner->says(document("ok", 3));
  runner->says(document("ok", 1));
  runner->ends(RunEnd::crashed, "illegal instruction");
  runner->says(document("ok", 2));
  for (int i = 0; i < 4; ++i) run();
  const auto order = [&] {
    std::vector<int> numbers;
    for (const std::size_t row : app.tune.rows) numbers.push_back(app.trials.all()[row].number);
    return numbers;
  };
  EXPECT_EQ(order(), (std::vector<int>{4, 3, 2, 1})) << "newest first";
  ASSERT_TRUE(click("tune/trials/sort.measured"));
  EXPECT_EQ(order(), (std::vector<int>{2, 4, 1, 3}));
  ASSERT_TRUE(click("tune/trials/sort.measured"));
  EXPECT_EQ(order(), (std::vector<int>{1, 4, 2, 3})) << "without a time: last, whichever way";
  ASSERT_TRUE(click("tune/trials/sort.state"));
  EXPECT_EQ(order().front(), 3) << "crash comes before ok";
  ASSERT_TRUE(click("tune/trials/filter.failed"));
  EXPECT_EQ(order(), (std::vector<int>{3}));
  ASSERT_TRUE(click("tune/trials/filter.ok"));
  EXPECT_EQ(order().size(), 3U);
  ASSERT_TRUE(click("tune/trials/filter.all"));
  ASSERT_TRUE(click("tune/trials/sort.number"));
  ASSERT_TRUE(click("tune/trials/row.4"));
  key(ImGuiKey_DownArrow);
  EXPECT_EQ(app.view.tune.selected, 3);
  key(ImGuiKey_PageDown);
  EXPECT_EQ(app.view.tune.selected, 1);
  key(ImGuiKey_UpArrow);
  EXPECT_EQ(app.view.tune.selected, 2);
  ASSERT_TRUE(run_command(app, "trials.copy"));
  EXPECT_NE(copied.find("run 2: ok, 1 ms"), std::string::npos) << copied;
  EXPECT_NE(copied.find("fathom-trace 1"), std::string::npos);
  ASSERT_TRUE(run_command(app, "trials.copy-command"));
  EXPECT_EQ(copied, "/opt/fathom run 'it'\\''s.fathom' --target x86-64 --json");
}

TEST_F(Tune, a_plan_is_named_by_what_it_has_otherwise_and_opened_again) {
  run();
  take_other_tile();
  runner->says(document("ok", 5));
  run();
  EXPECT_NE(text("tune/trials/row.1").find("the best"), std::string::npos) << text("tune/trials/row.1");
  EXPECT_NE(text("tune/trials/row.2").find("tile "), std::string::npos) << text("tune/trials/row.2");
  EXPECT_NE(mirror().text_of("tune/decisions").find("1 of "), std::string::npos);
  EXPECT_NE(mirror().text_of("tune/decisions").find("↺"), std::string::npos);
  const Trace mine = app.document.shown()->compilation().inputs.trace;
  ASSERT_EQ(mine.entries.size(), 1U);
  ASSERT_TRUE(click("tune/trials/row.1"));
  key(ImGuiKey_G);
  settle();
  EXPECT_TRUE(app.document.shown()->compilation().inputs.trace.entries.empty()) << "the first plan is open";
  key(ImGuiKey_Z, ImGuiMod_Ctrl);
  settle();
  EXPECT_EQ(app.document.shown()->compilation().inputs.trace.entries, mine.entries) << "one change, which undo takes back";
}

TEST_F(Tune, runs_of_another_text_or_other_sizes_stand_apart) {
  run();
  app.document.change([](session::Session& s) { return s.set_dim("R", 128); });
  settle();
  until_checked();
  EXPECT_NE(text("tune/trials/row.1").find("other sizes"), std::string::npos) << text("tune/trials/row.1");
  run();
  app.view.tune.picked = {1, 2};
  frame();
  EXPECT_NE(why_no_comparison(app).find("different"), std::string::npos);
  EXPECT_FALSE(run_command(app, "run.compare"));
  EXPECT_EQ(mirror().text_of("tune/plots").find("run 1:"), std::string::npos) << "no time of other sizes in the picture";
  std::string edited = program;
  edited += "# another text\n";
  app.document.type(edited);
  settle();
  until_checked();
  EXPECT_NE(text("tune/trials/row.2").find("another text"), std::string::npos);
  app.view.tune.selected = 2;
  EXPECT_NE(why_no_other_plan(app).find("another text"), std::string::npos);
}

TEST_F(Tune, two_picked_rows_are_compared_in_turn_and_the_sentence_says_which) {
  run();
  take_other_tile();
  run();
  EXPECT_FALSE(run_command(app, "run.compare")) << "nothing is picked";
  ASSERT_TRUE(click("tune/trials/pick.1"));
  ASSERT_TRUE(click("tune/trials/pick.2"));
  EXPECT_EQ(text("tune/trials/pick.1"), "A");
  EXPECT_EQ(text("tune/trials/pick.2"), "B");
  const auto compared = [&](double low, double median, double high) {
    runner->says(document("ok", 2, {{"ratio", {{"median", median}, {"low", low}, {"high", high}, {"pairs", 40}}}}));
    key(ImGuiKey_C);
    until_idle();
    return text("tune/trials/comparison");
  };
  EXPECT_EQ(compared(1.28, 1.31, 1.34), "Run 2 is 1.31× as fast as run 1 [1.28, 1.34].");
  EXPECT_EQ(compared(0.5, 0.5, 0.625), "Run 1 is 2.00× as fast as run 2 [1.60, 2.00].");
  EXPECT_EQ(compared(0.97, 1.01, 1.05), "No difference between run 1 and run 2 can be seen: 1.01× [0.97, 1.05].");
  ASSERT_TRUE(runner->orders.back().against);
  EXPECT_TRUE(runner->orders.back().inputs.trace.entries.empty());
  EXPECT_EQ(runner->orders.back().against->entries.size(), 1U);
  runner->ends(RunEnd::crashed, "bus error");
  key(ImGuiKey_C);
  until_idle();
  EXPECT_NE(text("tune/trials/comparison").find("crashed: bus error"), std::string::npos);
  EXPECT_TRUE(app.trials.find(1)->is_ok() && app.trials.find(2)->is_ok());
  runner->hangs();
  key(ImGuiKey_C);
  until_running();
  EXPECT_TRUE(run_command(app, "run.cancel"));
  frame();
  frame();
  EXPECT_NE(text("tune/trials/comparison").find("You cancelled it."), std::string::npos);
}

TEST_F(Tune, the_plan_with_nothing_fused_is_a_run_of_its_own) {
  run();
  runner->says(document("ok", 4));
  ASSERT_TRUE(run_command(app, "run.unfused"));
  until_idle();
  const Trial& unfused = *app.trials.find(2);
  EXPECT_TRUE(unfused.is_unfused);
  int declined = 0;
  for (const session::PlanChoice& each : unfused.plan.choices)
    declined += each.site.find("/fuse") != std::string::npos && each.choice == "no";
  EXPECT_GT(declined, 0);
  EXPECT_TRUE(app.document.shown()->compilation().inputs.trace.entries.empty()) << "the open plan stays";
  ASSERT_TRUE(click("tune/trials/row.1"));
  EXPECT_NE(mirror().text_of("tune/run").find("4.00× as fast as nothing fused (run 2"), std::string::npos) << mirror().text_of("tune/run");
}

TEST_F(Tune, another_machines_target_says_what_to_do) {
  app.document.change([](session::Session& s) { return s.set_target("blackboard"); });
  settle();
  EXPECT_NE(mirror().text_of("tune/trials").find("Choose x86-64 as the target"), std::string::npos) << mirror().text_of("tune/trials");
  EXPECT_EQ(mirror().find("tune/trials/run"), nullptr) << "no button that does nothing";
  app.trials.runner = nullptr;
  frame();
  frame();
  EXPECT_NE(mirror().text_of("tune/trials").find("Plans run where the program"), std::string::npos);
}

TEST_F(Tune, decisions_show_their_alternatives_in_place) {
  const Decision* tile = nullptr;
  for (const Decision& each : app.document.shown()->compilation().record.decisions)
    if (each.kind == "tile") tile = &each;
  ASSERT_NE(tile, nullptr);
  const std::string site = tile->site, reason = tile->reason;
  std::string wanted;
  for (const Alternative& each : tile->alternatives)
    if (!each.refused && each.choice != tile->choice) wanted = each.choice;
  ASSERT_TRUE(click("tune/decisions/" + site));
  EXPECT_NE(mirror().text_of("tune/decisions").find(reason), std::string::npos);
  ASSERT_TRUE(click("tune/decisions/" + site + "=" + wanted));
  settle();
  EXPECT_NE(text("tune/decisions/" + site).find(wanted), std::string::npos);
  EXPECT_NE(text("tune/decisions/" + site).find("↺"), std::string::npos);
  key(ImGuiKey_L);
  settle();
  EXPECT_NE(text("tune/decisions/" + site).find("locked"), std::string::npos);
  ASSERT_TRUE(run_command(app, "decision.reset"));
  settle();
  EXPECT_EQ(text("tune/decisions/" + site).find("↺"), std::string::npos);
}

TEST_F(Tune, an_export_waits_for_the_checks_and_is_written) {
  ASSERT_TRUE(run_command(app, "export.trace"));
  frame();
  EXPECT_TRUE(app.palette.is_open);
  EXPECT_EQ(app.palette.query, "f.trace");
  key(ImGuiKey_Enter);
  for (int i = 0; i < 1000 && app.exporter.is_waiting(); ++i) {
    frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(read_whole("f.trace").value_or(""), session::print(app.document.shown()->compilation().record.trace));
  EXPECT_NE(app.document.message().find("all steps passed their checks"), std::string::npos) << app.document.message();
  ASSERT_TRUE(run_command(app, "export.trace"));
  frame();
  frame();
  EXPECT_NE(text("palette/save").find("Replace f.trace"), std::string::npos);
  key(ImGuiKey_Escape);
}

TEST(TuneExport, is_refused_where_a_step_failed_its_check) {
  Explorer explorer;
  explorer.open("attention_nomask");
  session::Inputs inputs = explorer.app.document.shown()->compilation().inputs;
  inputs.options.unsound = true;
  inputs.dims = {{"B", 1}, {"H", 1}, {"S", 24}, {"T", 40}, {"D", 32}};
  inputs.trace.entries.push_back({"o.sum/j/repair", "acc * exp(p.m' - p.m)", false, Origin::by_user});
  explorer.app.document.open(inputs);
  explorer.settle();
  run_command(explorer.app, "workspace.tune");
  explorer.app.exporter.begin(explorer.app.document, "wrong.trace");
  explorer.frame();
  explorer.until_checked();
  explorer.frame();
  EXPECT_FALSE(explorer.app.exporter.is_waiting());
  EXPECT_NE(explorer.app.document.message().find("failed its check: "), std::string::npos) << explorer.app.document.message();
  EXPECT_NE(explorer.app.document.message().find("wrong.trace was not written"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists("wrong.trace"));
}

TEST(TuneExport, of_a_kernel_for_a_gpu_is_a_folder) {
  Explorer explorer;
  explorer.open("softmax");
  App& app = explorer.app;
  EXPECT_NE(why_no_cuda_export(app).find("Choose sm_80 or sm_90a"), std::string::npos) << why_no_cuda_export(app);
  EXPECT_FALSE(run_command(app, "export.cuda"));
  app.document.change([](session::Session& s) { return s.set_target("sm_80"); });
  explorer.settle();
  EXPECT_EQ(why_no_cuda_export(app), "");
  ASSERT_TRUE(run_command(app, "export.cuda"));
  EXPECT_EQ(app.exporter.chosen().id, "cuda");
  app.exporter.begin(app.document, "of-a-gpu");
  explorer.until_checked();
  for (int i = 0; i < 1000 && app.exporter.is_waiting(); ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(app.document.message().find("Exported: "), std::string::npos) << app.document.message();
  EXPECT_NE(read_whole("of-a-gpu/kernel.cu").value_or("").find("softmax_rows_launch"), std::string::npos);
  EXPECT_EQ(read_whole("of-a-gpu/plan.trace").value_or(""), session::print(app.document.shown()->compilation().record.trace));
  EXPECT_NE(read_whole("of-a-gpu/checks.md").value_or("").find("| passed |"), std::string::npos);
}

TEST_F(Tune, an_export_of_a_plan_that_changed_is_not_written) {
  app.document.change([](session::Session& s) { return s.set_dim("R", 96); });
  settle();
  app.exporter.begin(app.document, "old.trace");
  app.document.change([](session::Session& s) { return s.set_dim("R", 32); });
  // The checks of the first state may be done already; then it is written, and nothing is wrong.
  settle();
  until_checked();
  for (int i = 0; i < 1000 && app.exporter.is_waiting(); ++i) frame();
  EXPECT_FALSE(app.exporter.is_waiting());
  EXPECT_TRUE(std::filesystem::exists("old.trace") || app.document.message().find("The program changed") != std::string::npos);
}

TEST_F(Tune, runs_come_back_with_the_session) {
  runner->says(document("ok", 3));
  runner->ends(RunEnd::crashed, "segmentation fault");
  run();
  take_other_tile();
  run();
  app.view.tune.plot = TunePlot::roofline;
  app.view.tune.picked = {1, 2};
  EXPECT_TRUE(app.is_changed());
  save_session(app, "all.session.json");
  EXPECT_FALSE(app.is_changed());
  const std::string before = app.trials.to_json().dump();
  const TuneView view = app.view.tune;
  open("softmax");
  EXPECT_TRUE(app.trials.all().empty()) << "runs belong to their session";
  open("all.session.json");
  EXPECT_EQ(app.trials.to_json().dump(), before);
  EXPECT_EQ(app.view.tune, view);
  EXPECT_FALSE(app.is_changed());
  ASSERT_EQ(app.trials.all().size(), 2U);
  EXPECT_EQ(app.trials.all()[1].outcome.says, "The kernel crashed: segmentation fault.");
  until_checked();
  run();
  EXPECT_EQ(app.trials.all().back().number, 3);
}

TEST_F(Tune, runs_of_a_damaged_or_hostile_file_are_left_out_and_it_says_so) {
  run();
  run();
  const Json good = Json::parse(session_file(app));
  const auto opened = [&](const Json& json) {
    EXPECT_FALSE(write_whole("x.session.json", json.dump(-1, ' ', false, Json::error_handler_t::replace)));
    open("x.session.json");
    return app.document.message();
  };
  EXPECT_EQ(opened(good), "");
  EXPECT_EQ(app.trials.all().size(), 2U);
  Json future = good;
  future["trials"]["version"] = 99;
  EXPECT_NE(opened(future).find("another version"), std::string::npos);
  EXPECT_TRUE(app.trials.all().empty());
  EXPECT_NE(app.document.shown(), nullptr);
  for (const Json& damaged : {Json(7), Json::array(), Json::object(), Json{{"version", 1}, {"runs", 3}}}) {
    Json json = good;
    json["trials"] = damaged;
    EXPECT_NE(opened(json).find("damaged"), std::string::npos) << damaged.dump();
  }
  const std::vector<std::pair<const char*, Json>> lies{{"/measured/ms", -1},
                                                       {"/measured/p20", 1e300},
                                                       {"/measured/n", 0},
                                                       {"/number", 0},
                                                       {"/number", 2147483647},
                                                       {"/predicted/ms", "fast"},
                                                       {"/result", "splendid"},
                                                       {"/trace", "no trace"},
                                                       {"/says", std::string(100000, 'x')},
                                                       {"/choices", {{1, 2, 3}}},
                                                       {"/conditions", {{"a", {}}}},
                                                       {"/dims", {{"R", "many"}}},
                                                       {"/precision", "none"}};
  for (const auto& [pointer, lie] : lies) {
    Json json = good;
    json["trials"]["runs"][1][Json::json_pointer(pointer)] = lie;
    EXPECT_NE(opened(json).find("1 of the 2 runs"), std::string::npos) << pointer;
    EXPECT_EQ(app.trials.all().size(), 1U) << pointer;
    frame();
  }
  Json missing = good;
  missing["trials"]["runs"][0].erase("sizes");
  EXPECT_NE(opened(missing).find("1 of the 2 runs"), std::string::npos);
  Json many = good;
  for (int i = 0; i < 3000; ++i) many["trials"]["runs"].push_back(good["trials"]["runs"][1]);
  for (std::size_t i = 0; i < many["trials"]["runs"].size(); ++i) many["trials"]["runs"][i]["number"] = i + 1;
  (void)opened(many);
  EXPECT_EQ(app.trials.all().size(), Trials::most_kept);
}

TEST_F(Tune, cleared_runs_can_be_brought_back) {
  EXPECT_FALSE(run_command(app, "trials.clear"));
  run();
  ASSERT_TRUE(run_command(app, "trials.clear"));
  frame();
  frame();
  EXPECT_NE(mirror().text_of("tune/trials").find("No plan was run yet."), std::string::npos);
  ASSERT_TRUE(run_command(app, "trials.put-back"));
  EXPECT_EQ(app.trials.all().size(), 1U);
}

TEST_F(Tune, plots_name_their_points_and_choose_by_keys) {
  for (int i = 0; i < 3; ++i) run();
  frame();
  EXPECT_NE(mirror().find("tune/plots/plot/measured.2"), nullptr);
  EXPECT_NE(mirror().find("tune/plots/plot/predicted.2"), nullptr);
  ASSERT_TRUE(click("tune/plots/plot/measured.2"));
  EXPECT_EQ(app.view.tune.selected, 2);
  constexpr int most_items = 200;
  key(ImGuiKey_Tab);  // a click leaves the focus there, without its keys
  for (int i = 0; i < most_items && mirror().focused() != "tune/plots/plot"; ++i) key(ImGuiKey_Tab);
  key(ImGuiKey_DownArrow);
  key(ImGuiKey_DownArrow);
  EXPECT_EQ(app.view.tune.selected, 3);
  ASSERT_TRUE(click("tune/plots/roofline"));
  frame();
  EXPECT_NE(mirror().find("tune/plots/plot/predicted"), nullptr);
  ASSERT_TRUE(click("tune/plots/traffic"));
  frame();
  const Step& last = app.document.shown()->steps().back();
  ASSERT_TRUE(click("tune/plots/plot/" + last.id));
  EXPECT_EQ(app.step(), app.document.shown()->steps().size() - 1);
}

TEST(Plot, ticks_are_round_few_and_inside) {
  const widgets::PlotAxis linear{"x", false, false, nullptr}, whole{"x", false, true, nullptr}, logarithmic{"x", true, false, nullptr};
  EXPECT_EQ(widgets::ticks_between(0, 10, linear, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(widgets::ticks_between(0.5, 3.5, whole, 10), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(widgets::ticks_between(1, 100, logarithmic, 5), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  const widgets::PlotAxis bytes{"x", false, false, nullptr, true};
  EXPECT_EQ(widgets::ticks_between(0, 4.5 * 1024 * 1024, bytes, 5), (std::vector<double>{0, 1 << 20, 2 << 20, 3 << 20, 4 << 20}));
  EXPECT_TRUE(widgets::ticks_between(1, 1, linear, 5).empty());
  EXPECT_TRUE(widgets::ticks_between(0, INFINITY, linear, 5).empty());
  EXPECT_LE(widgets::ticks_between(1e-9, 1e9, logarithmic, 6).size(), 8U);
}

TEST(ShellText, is_what_a_shell_takes_back) {
  EXPECT_EQ(shell_text({"/a/b", "--dim", "S=4"}), "/a/b --dim S=4");
  EXPECT_EQ(shell_text({"a b", "", "it's", "$x"}), "'a b' '' 'it'\\''s' '$x'");
}

// ---- the real child ----
std::string script(const std::string& name, const std::string& body) {
  EXPECT_FALSE(write_whole(name, "#!/bin/sh\n" + body));
  std::filesystem::permissions(name, std::filesystem::perms::owner_all);
  return std::filesystem::absolute(name).string();
}

RunOrder small_order(std::chrono::milliseconds at_most) {
  RunOrder order;
  order.inputs.source = program;
  order.inputs.target = "x86-64";
  order.at_most = at_most;
  return order;
}

TEST(ChildRunner, crashes_hangs_and_floods_cost_the_child_alone) {
  const OwnFolder folder;
  const auto answer = [](const std::string& path, std::chrono::milliseconds at_most = std::chrono::seconds(20)) {
    const auto runner = make_child_runner(path);
    return runner->run(small_order(at_most), Cancel());
  };
  const RunAnswer crash = answer(script("crash", "kill -SEGV $$\n"));
  EXPECT_EQ(crash.end, RunEnd::crashed);
  EXPECT_EQ(crash.why, "segmentation fault");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(answer(script("hang", "sleep 60 & echo $! > pid; sleep 60\n"), std::chrono::milliseconds(500)).end, RunEnd::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  const std::string grandchild = read_whole("pid").value_or("0");
  for (int i = 0; i < 100 && std::filesystem::exists("/proc/" + std::to_string(std::stol(grandchild)) + "/exe"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(std::stol(grandchild)) + "/exe")) << "what the child started ends with it";
  const RunAnswer flood = answer(script("flood", "head -c 20000000 /dev/zero; exit 3\n"));
  EXPECT_EQ(flood.end, RunEnd::exited);
  EXPECT_EQ(flood.status, 3);
  EXPECT_LT(flood.out.size(), 5U << 20U);
  EXPECT_EQ(answer("/nowhere/fathom").end, RunEnd::not_started);
  const Cancel cancel;
  cancel.request();
  EXPECT_EQ(make_child_runner(script("slow", "sleep 60\n"))->run(small_order(std::chrono::seconds(50)), cancel).end, RunEnd::cancelled);
}

TEST(ChildRunner, the_real_program_runs_a_plan_and_compares_two) {
  const std::string fathom = std::string(FATHOM_BINARY_DIR) + "/fathom";
  if (!std::filesystem::exists(fathom)) GTEST_SKIP() << "fathom is not built";
  const OwnFolder folder;
  const auto runner = make_child_runner(fathom);
  RunOrder order = small_order(std::chrono::seconds(120));
  const Outcome run = outcome_of(runner->run(order, Cancel()), order.at_most);
  ASSERT_EQ(run.kind, RunKind::ok) << run.says;
  EXPECT_GT(run.measured->ms, 0);
  order.against = Trace{};
  const Outcome both = outcome_of(runner->run(order, Cancel()), order.at_most);
  ASSERT_EQ(both.kind, RunKind::ok) << both.says;
  ASSERT_TRUE(both.ratio);
  EXPECT_LE(both.ratio->low, both.ratio->high);
  order.inputs.source = "nonsense";
  const Outcome refused = outcome_of(runner->run(order, Cancel()), order.at_most);
  EXPECT_EQ(refused.kind, RunKind::refused);
  EXPECT_FALSE(refused.says.empty());
}

}  // namespace
}  // namespace fathom::ui::tests
