// The check is checked (docs/checks.md): every mutant is caught, by a verifier or by a failed case, and what is not mutated passes. What
// caught each stands in caught.txt, and docs/checks.md shows it; FATHOM_UPDATE_EXPECTED=1 writes both anew.
#include "mutants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "files.hpp"
#include "session/session.hpp"

namespace fathom::mutants {
namespace {

/// One plan and its cases, prepared once for all mutants of a level. The machine is the smallest of the table: its tiles have 2 elements,
/// so that every loop takes several trips and every tail occurs, and it is the same everywhere.
struct Subject {
  std::shared_ptr<const session::Compilation> compilation;
  std::unique_ptr<session::Cases> cases;
  const Step* step = nullptr;  ///< the last of its level
};

session::Inputs inputs_of(const Plan& plan) {
  session::Inputs inputs;
  inputs.file_name = fmt::format("samples/{}.fathom", plan.sample);
  inputs.source = test::read_file(test::in_project(inputs.file_name));
  inputs.target = "blackboard";
  if (plan.site != nullptr) inputs.trace.entries.push_back({plan.site, plan.choice});
  return inputs;
}

const Subject& subject_of(const Plan& plan, Level level) {
  static std::map<std::pair<std::string, Level>, Subject> known;
  Subject& subject = known[{fmt::format("{} {}", plan.sample, plan.choice == nullptr ? "" : plan.choice), level}];
  if (subject.step != nullptr) return subject;
  auto compiled = session::compile(inputs_of(plan));
  if (!compiled) throw std::runtime_error(render(compiled.error(), plan.sample, ""));
  subject.compilation = *compiled;
  subject.cases = std::make_unique<session::Cases>(**compiled, level);
  for (const Step& step : subject.compilation->record.steps)
    if (step.after.level == level) subject.step = &step;
  return subject;
}

std::string family_of(const CheckCase& one) { return one.family.substr(0, one.family.find('@')); }

struct Outcome {
  int edited = 0;                   ///< small plans in which the edit found its place
  std::set<std::string> caught_by;  ///< families of the cases that failed, or "verifier"
  std::set<std::string> tried;      ///< families of all cases
};

std::string text_of(const Outcome& outcome) {
  if (outcome.caught_by.size() > 1 && outcome.caught_by == outcome.tried) return "every family";
  return fmt::format("{}", fmt::join(outcome.caught_by, ", "));
}

Outcome run(const Mutant& mutant) {
  const Subject& subject = subject_of(mutant.plan, mutant.level);
  Outcome outcome;
  bool ill_formed = false;
  const Check check = subject.cases->check(*subject.step, [&](const Ir& ir) {
    const Ir edited = mutant.edit(ir);
    if (print(edited) != print(ir)) ++outcome.edited;
    if (!verify(edited)) ill_formed = true;
    return edited;
  });
  if (ill_formed) {
    outcome.caught_by.insert("verifier");
    return outcome;
  }
  for (const CheckCase& one : check.cases) {
    outcome.tried.insert(family_of(one));
    if (one.status == CheckStatus::failed) outcome.caught_by.insert(family_of(one));
  }
  return outcome;
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all = loop_mutants();
  for (auto* more : {tile_mutants, kernel_mutants})
    for (Mutant& each : more()) all.push_back(std::move(each));
  return all;
}

std::string line_of(const Mutant& mutant, const Outcome& outcome) {
  return fmt::format("| `{}` | {} | {} {}{} | {} |\n", mutant.name, mutant.what, name(mutant.level), mutant.plan.sample,
                     mutant.plan.choice == nullptr ? "" : fmt::format(", {}", mutant.plan.choice), text_of(outcome));
}

constexpr std::string_view table_begin = "<!-- mutants: written by test_mutants -->\n", table_end = "<!-- end of mutants -->";

/// The page with its table replaced.
std::string page_with(const std::string& page, const std::string& table) {
  const auto begin = page.find(table_begin), end = page.find(table_end);
  if (begin == std::string::npos || end == std::string::npos) return page;
  return page.substr(0, begin + table_begin.size()) + table + page.substr(end);
}

TEST(Mutants, every_mutant_is_caught) {
  const auto mutants = all_mutants();
  EXPECT_GE(mutants.size(), 40U);
  std::string table = "| mutant | what is wrong | plan | caught by |\n|---|---|---|---|\n";
  std::set<std::string> names;
  for (const Mutant& mutant : mutants) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name << " is there twice";
    const Outcome outcome = run(mutant);
    EXPECT_GT(outcome.edited, 0) << mutant.name << " finds nothing to edit";
    EXPECT_FALSE(outcome.caught_by.empty()) << mutant.name << " survives: " << mutant.what;
    table += line_of(mutant, outcome);
  }
  const auto golden = test::in_project("tests/mutants/caught.txt"), page = test::in_project("docs/checks.md");
  if (std::getenv("FATHOM_UPDATE_EXPECTED") != nullptr) {
    std::ofstream(golden) << table;
    const std::string updated = page_with(test::read_file(page), table);
    std::ofstream(page) << updated;
  }
  EXPECT_EQ(test::read_file(golden), table);
  EXPECT_NE(test::read_file(page).find(std::string(table_begin) + table), std::string::npos)
      << "docs/checks.md shows another table: run with FATHOM_UPDATE_EXPECTED=1";
}

TEST(Mutants, what_is_not_mutated_passes) {
  for (const Mutant& mutant : all_mutants()) {
    const Subject& subject = subject_of(mutant.plan, mutant.level);
    static std::set<const Subject*> done;
    if (!done.insert(&subject).second) continue;
    const Check check = subject.cases->check(*subject.step);
    EXPECT_EQ(check.status, CheckStatus::passed) << mutant.plan.sample << " at level " << name(mutant.level) << ": " << check.reason;
  }
}

}  // namespace
}  // namespace fathom::mutants
