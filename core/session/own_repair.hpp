// A person's own repair of any repaired fusion of any program: what has to be written, what a text is worth, and taking it into the plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/own_repair.hpp"
#include "session/session.hpp"

namespace fathom::session {

/// What is asked: an h for which h(sum about the reference) is the sum about the next one.
struct RepairQuestion {
  Symbol consumer;
  std::string site;                ///< CONSUMER/INDEX/repair of the plan, also while the fusion is not taken
  std::string fuse_site;           ///< CONSUMER/INDEX/fuse
  Expr kept, wanted;               ///< the carried reduction about m and about m', in the program's own words
  std::vector<std::string> names;  ///< that may be written: "acc", "p.m", "p.m'"
  std::string answer;              ///< the repair that is derived
  std::string guard;
  std::string written;      ///< by a person, as the plan has it; empty: the compiler's own
  bool is_taken = false;    ///< the fusion is in the plan
  bool is_unsound = false;  ///< `written` is refuted and runs all the same
  std::string blocked;      ///< why the plan as it is takes no repair here, whatever is written; empty: it takes one
};
/// Of every reduction that is repaired by one expression, in program order.
[[nodiscard]] std::vector<RepairQuestion> repair_questions(const Compilation&);
[[nodiscard]] std::optional<RepairQuestion> repair_question(const Compilation&, Symbol consumer);

struct OwnRepair {
  std::string text;                   ///< as it was typed
  Expr written;                       ///< the names in full: m is p.m where only that can be meant; absent where the text does not parse
  std::optional<Diagnostic> mistake;  ///< of the text, or a name that is not at hand; its span says where
  algebra::JudgedRepair judged;       ///< where it parses
  std::string not_run;                ///< why no plan runs it, of one that is not derived; empty: it can be taken unsound
  [[nodiscard]] bool is_right() const { return written && judged.judgement.verdict == algebra::Verdict::derived; }
  [[nodiscard]] bool is_refuted() const { return written && judged.judgement.verdict == algebra::Verdict::refuted; }
};
[[nodiscard]] OwnRepair judge_own_repair(const Compilation&, Symbol consumer, std::string_view text);

/// Fuses the consumer, with this repair, as one change. One that is not derived is refused unless `even_unsound`: then the plan runs it
/// and carries the mark (docs/choices.md).
Checked<void> take_own_repair(Session&, Symbol consumer, std::string_view text, bool even_unsound = false);

}  // namespace fathom::session
