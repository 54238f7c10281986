// Traces: replay, text, locks, constraints, illegal overrides; the session's history and its JSON.
#include <algorithm>
#include <cmath>
#include <set>

#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

std::string all_text(const session::Compilation& c) {
  std::string text;
  for (const Step& step : c.record.steps) text += step.id + "\n" + step.says + "\n" + print(step.after);
  return text;
}

const Decision* decision_at(const session::Compilation& c, const std::string& site) {
  for (const Decision& decision : c.record.decisions)
    if (decision.site == site) return &decision;
  return nullptr;
}

bool refuses(const session::Compilation& c, const std::string& words) {
  return std::any_of(c.record.refusals.begin(), c.record.refusals.end(),
                     [&](const Refusal& refusal) { return refusal.reason.find(words) != std::string::npos; });
}

Compiled with_trace(const std::string& text, const std::string& lines, const std::string& target = "x86-64") {
  session::Inputs inputs = inputs_of(text, {}, {}, target);
  auto trace = session::parse_trace("fathom-trace 1\n" + lines);
  if (!trace) {
    ADD_FAILURE() << render(trace.error(), "trace", lines);
    return nullptr;
  }
  inputs.trace = *trace;
  return compiled(inputs);
}

const std::vector<std::string> samples = {"attention", "attention_nomask", "attention_dynamic", "softmax",      "logsumexp",
                                          "rmsnorm",   "layernorm",        "matmul_bias_gelu",  "cross_entropy"};

TEST(Replay, of_the_complete_trace_gives_the_same_text_byte_for_byte) {
  for (const std::string& name : samples)
    for (const std::string target : {"x86-64", "blackboard"}) {
      SCOPED_TRACE(name + " on " + target);
      const Compiled first = compiled(read_sample(name), {}, {}, target);
      ASSERT_TRUE(first);
      session::Inputs again = first->inputs;
      again.trace = first->record.trace;
      const Compiled second = compiled(again);
      ASSERT_TRUE(second);
      EXPECT_EQ(all_text(*second), all_text(*first));
      EXPECT_EQ(session::print(second->record.trace), session::print(first->record.trace));
      EXPECT_TRUE(second->record.refusals.empty() == first->record.refusals.empty());
    }
}

/// A row of the results, which have the same leading dimensions as the inputs, in plans for one row and for many.
TEST(DeterministicBatch, gives_a_row_the_same_bits_at_every_size_of_the_batch) {
  const auto plan = [](std::int64_t batch, std::int64_t rows, bool deterministic) {
    session::Inputs inputs =
        inputs_of(read_sample("attention_nomask"), {{"B", batch}, {"H", 1}, {"S", rows}, {"T", 300}, {"D", 8}}, {}, "x86-64-v4");
    inputs.options.deterministic_batch = deterministic;
    return compiled(inputs);
  };
  const auto first_row = [](const session::Compilation& c) {
    interp::Arrays inputs;
    for (const math::Parameter& param : c.program.params) {
      interp::Array array;
      array.dtype = param.dtype;
      std::int64_t size = 1;
      for (const Expr extent : param.extents) size *= array.shape.emplace_back(*evaluate_integer(extent, default_dims(c.program)));
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t in_batch = i % (size / array.shape[0]);
        array.data.push_back(
            round_to(param.dtype, std::sin(static_cast<double>(in_batch % 997) + 0.1 * static_cast<double>(param.name.text()[0]))));
      }
      inputs.emplace(param.name, std::move(array));
    }
    interp::RunOptions run;
    run.dims = default_dims(c.program);
    const auto results = interp::run(c.final_ir(), inputs, run);
    EXPECT_TRUE(results) << (results ? "" : results.error().reason);
    std::vector<double> row = results->begin()->second.data;
    row.resize(8);
    return row;
  };
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{1, 1}, {1, 7}, {5, 3}, {40, 2}};
  const Compiled usual = plan(1, 1, true);
  ASSERT_TRUE(usual);
  bool order_depends_on_size = false;
  std::set<std::vector<double>> rows;
  for (const auto& [batch, queries] : sizes) {
    const Compiled free = plan(batch, queries, false), pinned = plan(batch, queries, true);
    ASSERT_TRUE(free && pinned);
    EXPECT_TRUE(pinned->record.refusals.size() <= free->record.refusals.size());
    for (const std::string site : {"o/j/tile", "o/j/fold", "p.sum/j/lanes"}) {
      const Decision *a = decision_at(*usual, site), *b = decision_at(*pinned, site), *c = decision_at(*free, site);
      ASSERT_TRUE(a != nullptr && b != nullptr) << site;
      EXPECT_EQ(a->choice, b->choice) << site;
      order_depends_on_size = order_depends_on_size || c == nullptr || c->choice != a->choice;
    }
    rows.insert(first_row(*pinned));
  }
  EXPECT_TRUE(order_depends_on_size) << "these sizes show nothing";
  EXPECT_EQ(rows.size(), 1U);
}

TEST(DeterministicBatch, says_where_the_sizes_of_the_file_give_no_order) {
  const std::string text =
      "dim S = 64, T = 64\noperator f(x: f32[S], w: f32[T]) -> (o: f32[S])\n  where S == T\n{\n  o[i] = x[i] * sum[j](w[j])\n}\n";
  session::Inputs inputs = inputs_of(text, {{"S", 32}, {"T", 32}}, {}, "blackboard");
  inputs.options.deterministic_batch = true;
  const Compiled c = compiled(inputs);
  ASSERT_TRUE(c);
  EXPECT_TRUE(refuses(*c, "A row may have other bits at other sizes of the batch")) << "S is 64 in the file, and T 32 here";
  inputs.dims.clear();
  EXPECT_FALSE(refuses(*compiled(inputs), "A row may have other bits"));
}

TEST(Replay, of_an_overridden_plan_from_its_printed_trace_gives_the_same_text) {
  const Compiled plain = compiled(read_sample("attention_nomask"));
  ASSERT_TRUE(plain);
  for (const Decision& decision : plain->record.decisions)
    for (const Alternative& alternative : decision.alternatives) {
      if (alternative.refused || alternative.choice == decision.choice) continue;
      SCOPED_TRACE(decision.site + " = " + alternative.choice);
      const Compiled first = compiled(read_sample("attention_nomask"), {}, {{decision.site, alternative.choice}});
      ASSERT_TRUE(first);
      EXPECT_TRUE(first->record.refusals.empty()) << "it was offered: " << first->record.refusals[0].reason;
      const Decision* taken = decision_at(*first, decision.site);
      ASSERT_NE(taken, nullptr);
      EXPECT_EQ(taken->choice, alternative.choice);
      EXPECT_EQ(taken->origin, Origin::by_user);
      session::Inputs again = inputs_of(read_sample("attention_nomask"));
      const auto trace = session::parse_trace(session::print(first->record.trace));
      ASSERT_TRUE(trace);
      again.trace = *trace;
      const Compiled second = compiled(again);
      ASSERT_TRUE(second);
      EXPECT_EQ(all_text(*second), all_text(*first));
    }
}

TEST(Replay, gives_every_step_an_id_of_its_own) {
  for (const std::string& name : samples) {
    const Compiled c = compiled(read_sample(name));
    ASSERT_TRUE(c);
    std::set<std::string> ids;
    for (const Step& step : c->record.steps) {
      EXPECT_TRUE(ids.insert(step.id).second) << name << ": " << step.id << " twice";
      EXPECT_FALSE(step.says.empty()) << name << ": " << step.id;
      EXPECT_FALSE(step.lives.empty()) << name << ": " << step.id;
    }
    std::set<std::string> sites;
    for (const Decision& decision : c->record.decisions) {
      EXPECT_TRUE(sites.insert(decision.site).second) << name << ": " << decision.site << " twice";
      EXPECT_FALSE(decision.reason.empty()) << name << ": " << decision.site;
      EXPECT_TRUE(std::any_of(decision.alternatives.begin(), decision.alternatives.end(),
                              [&](const Alternative& each) { return each.choice == decision.choice && !each.refused; }))
          << name << ": " << decision.site << " does not list its own choice";
    }
  }
}

TEST(TraceText, prints_and_parses) {
  const std::string text =
      "fathom-trace 1\no/j/tile = 64\nlock o/i/tile = 48\np.sum/j/repair = acc * exp(p.m - p.m')\no/j/fold = any\no/k/tile = 64..256\n";
  const auto trace = session::parse_trace(text);
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->entries.size(), 5U);
  EXPECT_EQ(trace->entries[1], (TraceEntry{"o/i/tile", "48", true, Origin::by_user}));
  EXPECT_EQ(trace->entries[2].choice, "acc * exp(p.m - p.m')");
  EXPECT_EQ(session::print(*trace), text);
}

TEST(TraceText, may_have_comments_blank_lines_and_foreign_line_ends) {
  const auto trace = session::parse_trace("\r\n# a plan\r\n  fathom-trace 1 \r\n\r\n o/j/tile=64 # as measured\r\n\tlock\to/i/tile =  48");
  ASSERT_TRUE(trace) << trace.error().front().message;
  ASSERT_EQ(trace->entries.size(), 2U);
  EXPECT_EQ(trace->entries[0], (TraceEntry{"o/j/tile", "64", false, Origin::by_user}));
  EXPECT_EQ(trace->entries[1], (TraceEntry{"o/i/tile", "48", true, Origin::by_user}));
}

TEST(TraceText, that_is_wrong_gets_every_error_with_its_line_and_a_cure) {
  for (const std::string text : {"", "# nothing\n", "o/j/tile = 64\n", "fathom-trace 2\no/j/tile = 64\n"}) {
    const auto trace = session::parse_trace(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_NE(trace.error().front().cure.find("fathom-trace 1"), std::string::npos) << text;
  }
  const std::string text = "fathom-trace 1\no/j/tile\n= 4\no/i/tile =\no j = 3\n";
  const auto trace = session::parse_trace(text);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().size(), 4U);
  const std::string report = render(trace.error(), "x.trace", text);
  for (const char* place : {"x.trace:2:", "x.trace:3:", "x.trace:4:", "x.trace:5:"})
    EXPECT_NE(report.find(place), std::string::npos) << report;
}

TEST(Lock, of_a_site_that_is_gone_is_kept_and_reported) {
  const Compiled c = with_trace(read_sample("softmax"), "lock z/j/tile = 64\nz/i/tile = 8\n");
  ASSERT_TRUE(c);
  EXPECT_TRUE(refuses(*c, "z/j/tile is locked to 64"));
  EXPECT_TRUE(refuses(*c, "no decision at z/i/tile"));
  const std::string trace = session::print(c->record.trace);
  EXPECT_NE(trace.find("lock z/j/tile = 64\n"), std::string::npos) << trace;
  EXPECT_EQ(trace.find("z/i/tile"), std::string::npos) << trace;
}

TEST(Lock, holds_its_choice_when_the_program_changes) {
  const Compiled c = with_trace(read_sample("attention_nomask"), "lock o/j/tile = 32\n");
  ASSERT_TRUE(c);
  EXPECT_TRUE(decision_at(*c, "o/j/tile")->locked);
  session::Inputs larger = c->inputs;
  larger.dims = {{"T", 8192}};
  larger.trace = c->record.trace;
  const Compiled other = compiled(larger);
  ASSERT_TRUE(other);
  EXPECT_EQ(decision_at(*other, "o/j/tile")->choice, "32");
  EXPECT_TRUE(decision_at(*other, "o/j/tile")->locked);
}

TEST(Constraint, of_a_range_or_any_limits_the_choice) {
  const std::string text = read_sample("attention_nomask");
  const Compiled plain = compiled(text);
  ASSERT_TRUE(plain);
  const std::string usual = decision_at(*plain, "o/j/tile")->choice;
  EXPECT_EQ(decision_at(*with_trace(text, "o/j/tile = any\n"), "o/j/tile")->choice, usual);
  EXPECT_EQ(decision_at(*with_trace(text, "o/j/tile = 1..100000\n"), "o/j/tile")->choice, usual);
  EXPECT_EQ(decision_at(*with_trace(text, "o/j/tile = 16..32\n"), "o/j/tile")->choice.size(), 2U);
  const std::string small = decision_at(*with_trace(text, "o/j/tile = 16..32\n"), "o/j/tile")->choice;
  EXPECT_TRUE(small == "16" || small == "32") << small;
  const Compiled none = with_trace(text, "o/j/tile = 3..5\n");
  EXPECT_EQ(decision_at(*none, "o/j/tile")->choice, usual);
  EXPECT_TRUE(refuses(*none, "lies in 3..5"));
}

TEST(Override, that_is_illegal_is_a_refusal_and_the_default_stands) {
  const std::string text = read_sample("attention_nomask");
  const Compiled plain = compiled(text);
  ASSERT_TRUE(plain);
  for (const auto& [site, choice] : std::vector<std::pair<std::string, std::string>>{{"o/j/tile", "7"},
                                                                                     {"o/j/tile", "0"},
                                                                                     {"o/j/tile", "-64"},
                                                                                     {"o/j/tile", "many"},
                                                                                     {"o/j/tile", "64.5"},
                                                                                     {"o/j/tile", "99999999999999999999999"},
                                                                                     {"o/i/tile", "4800000"},
                                                                                     {"o/j/fold", "sideways"},
                                                                                     {"o.sum/j/fuse", "perhaps"},
                                                                                     {"attention_nomask/work", "x"},
                                                                                     {"p.e/exp2", "drop"}}) {
    SCOPED_TRACE(site + " = " + choice);
    const Compiled c = compiled(text, {}, {{site, choice}});
    ASSERT_TRUE(c);
    ASSERT_EQ(c->record.refusals.size(), 1U);
    EXPECT_TRUE(refuses(*c, site + " = "));
    EXPECT_EQ(c->record.refusals[0].reason.back(), '.');
    EXPECT_EQ(decision_at(*c, site)->choice, decision_at(*plain, site)->choice);
    EXPECT_EQ(decision_at(*c, site)->origin, Origin::by_default);
    EXPECT_EQ(all_text(*c), all_text(*plain));
  }
}

TEST(Override, that_a_listed_alternative_refuses_says_the_listed_reason) {
  for (const std::string name : {"attention_nomask", "softmax"}) {
    const Compiled plain = compiled(read_sample(name), {}, {}, "blackboard");
    ASSERT_TRUE(plain);
    int refused = 0;
    for (const Decision& decision : plain->record.decisions)
      for (const Alternative& alternative : decision.alternatives) {
        if (!alternative.refused) continue;
        ++refused;
        const Compiled c = compiled(read_sample(name), {}, {{decision.site, alternative.choice}}, "blackboard");
        ASSERT_TRUE(c);
        EXPECT_TRUE(refuses(*c, alternative.refused->reason)) << decision.site << " = " << alternative.choice;
        EXPECT_EQ(decision_at(*c, decision.site)->choice, decision.choice);
      }
    EXPECT_GT(refused, 0) << name;
  }
}

// ---- the session ----

TEST(Session, undoes_and_redoes_every_change) {
  auto session = session::Session::open(inputs_of(read_sample("attention_nomask")));
  ASSERT_TRUE(session);
  const std::string start = all_text(session->now());
  EXPECT_FALSE(session->can_undo());
  ASSERT_TRUE(session->override_choice("o/j/tile", "32"));
  const std::string tiled = all_text(session->now());
  EXPECT_NE(tiled, start);
  ASSERT_TRUE(session->lock("o/j/tile", true));
  EXPECT_TRUE(decision_at(session->now(), "o/j/tile")->locked);
  ASSERT_TRUE(session->override_choice("o/j/fold", "split-k"));
  const std::string split = all_text(session->now());
  EXPECT_NE(split, tiled);
  session->undo();
  session->undo();
  EXPECT_EQ(all_text(session->now()), tiled);
  EXPECT_FALSE(decision_at(session->now(), "o/j/tile")->locked);
  session->undo();
  EXPECT_EQ(all_text(session->now()), start);
  EXPECT_FALSE(session->can_undo());
  session->undo();
  EXPECT_EQ(all_text(session->now()), start);
  session->redo();
  session->redo();
  session->redo();
  EXPECT_EQ(all_text(session->now()), split);
  EXPECT_FALSE(session->can_redo());
  session->redo();
  EXPECT_EQ(all_text(session->now()), split);
  session->undo();
  ASSERT_TRUE(session->reset("o/j/tile"));
  EXPECT_FALSE(session->can_redo()) << "a new change forgets what was undone";
  EXPECT_EQ(all_text(session->now()), start);
}

TEST(Session, keeps_its_state_when_a_change_is_wrong) {
  auto session = session::Session::open(inputs_of(read_sample("softmax")));
  ASSERT_TRUE(session);
  const std::string start = all_text(session->now());
  const auto broken = session->edit_source("operator f(");
  ASSERT_FALSE(broken);
  EXPECT_FALSE(broken.error().empty());
  EXPECT_EQ(all_text(session->now()), start);
  EXPECT_FALSE(session->can_undo());
  const auto unknown = session->lock("no/such/site", true);
  ASSERT_FALSE(unknown);
  EXPECT_FALSE(unknown.error().front().cure.empty());
}

TEST(Session, keeps_a_lock_across_an_edit_that_removes_its_site_and_brings_it_back) {
  auto session = session::Session::open(inputs_of(read_sample("softmax")));
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->override_choice("y/j/tile", "128"));
  ASSERT_TRUE(session->lock("y/j/tile", true));
  std::string other = read_sample("softmax");
  other.replace(other.find("softmax[j](x[i,j])"), 18, "x[i,j] * 2");
  ASSERT_TRUE(session->edit_source(other));
  if (decision_at(session->now(), "y/j/tile") == nullptr) {
    EXPECT_TRUE(refuses(session->now(), "y/j/tile is locked"));
  }
  ASSERT_TRUE(session->edit_source(read_sample("softmax")));
  EXPECT_EQ(decision_at(session->now(), "y/j/tile")->choice, "128");
  EXPECT_TRUE(decision_at(session->now(), "y/j/tile")->locked);
}

TEST(Session, drops_the_size_of_a_dimension_that_the_text_no_longer_has) {
  auto session = session::Session::open(inputs_of("dim S = 8, T = 6\noperator f(x: f32[S,T]) -> (y: f32[S,T]) { y[i,j] = x[i,j] * 2 }\n"));
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->set_dim("S", 12));
  ASSERT_TRUE(session->set_dim("T", 16));
  const std::string other = "dim S = 8, R = 6\noperator g(x: f32[S,R]) -> (y: f32[S,R]) { y[i,j] = x[i,j] + 1 }\n";
  const auto edited = session->edit_source(other);
  ASSERT_TRUE(edited) << edited.error().front().message;
  EXPECT_EQ(session->now().inputs.dims, (std::map<std::string, std::int64_t>{{"S", 12}}));
  session->undo();
  EXPECT_EQ(session->now().inputs.dims.at("T"), 16);
}

TEST(Session, round_trips_through_json) {
  auto session = session::Session::open(inputs_of(read_sample("attention_nomask"), {{"S", 512}}));
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->override_choice("o/j/tile", "32"));
  ASSERT_TRUE(session->lock("o/j/tile", true));
  ASSERT_TRUE(session->override_choice("o/j/fold", "split-k"));
  session->undo();
  const std::string text = session->to_json();
  auto other = session::Session::from_json(text);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->to_json(), text);
  EXPECT_EQ(all_text(other->now()), all_text(session->now()));
  EXPECT_TRUE(other->can_redo());
  other->redo();
  session->redo();
  EXPECT_EQ(all_text(other->now()), all_text(session->now()));
  for (int i = 0; i < 3; ++i) other->undo();
  EXPECT_FALSE(other->can_undo());
}

TEST(Session, refuses_json_that_is_no_session) {
  for (const std::string text : {"", "x", "[]", "{}", "null", R"({"fathom-session":2,"at":0,"states":[]})", R"({"fathom-session":1})",
                                 R"({"fathom-session":1,"at":0,"states":[]})", R"({"fathom-session":1,"at":0,"states":[{}]})",
                                 R"({"fathom-session":1,"at":0,"states":[{"file":3}]})", R"({"fathom-session":1,"at":0,"states":7})"}) {
    const auto session = session::Session::from_json(text);
    ASSERT_FALSE(session) << text;
    EXPECT_FALSE(session.error().front().message.empty());
  }
  auto good = session::Session::open(inputs_of(read_sample("softmax")));
  ASSERT_TRUE(good);
  Json document = Json::parse(good->to_json());
  for (const Json& at : {Json(-1), Json("first"), Json(1e300), Json(0.5), Json(nullptr)}) {
    document["at"] = at;
    const auto damaged = session::Session::from_json(document.dump());
    ASSERT_FALSE(damaged) << at;
    EXPECT_NE(damaged.error().front().message.find("damaged"), std::string::npos);
  }
  document["at"] = 0;
  for (const Json& size : {Json(1e300), Json(-1e300), Json(2.5), Json(18446744073709551615U), Json("8")}) {
    document["states"][0]["dims"]["C"] = size;
    EXPECT_FALSE(session::Session::from_json(document.dump())) << size;
  }
}

}  // namespace
}  // namespace fathom::session_tests
