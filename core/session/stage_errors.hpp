// What running states and results should be after what a run has seen so far, and how far they are from it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "session/stage.hpp"
#include "session/stage_places.hpp"

namespace fathom::session::stage {

/// The reference of a running state is its own statement, evaluated by the wide reference with every reduction limited to the elements that
/// it has seen. So the elements before decide, and nothing of the plan: no gauge, no repair, no order of adding.
class Errors {
 public:
  /// `statements` defines the states, `written` the results; all three must outlive it.
  Errors(const math::Program& statements, const math::Program& written, const interp::Arrays& inputs,
         std::vector<interp::BoundOptions::Narrowed> narrowed);
  ~Errors();
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

  /// Values of the statement are kept in another unit from now on: `unit` times what the text says. NaN: in several, so that they have no
  /// reference.
  void set_unit(const std::string& statement, double unit) { units_[statement] = unit; }
  [[nodiscard]] double unit_of(const std::string& statement) const;
  /// Reductions of a module that run in parts: what their loops leave is a part, which has no reference.
  void set_parts(std::set<std::string> statements) { parts_ = std::move(statements); }
  /// In the order of the run.
  void see(const Write&, const Place&);
  /// Of what was written: nullopt for what has no reference (a helper, a merge of parts, an axis that is not the statement's).
  [[nodiscard]] std::optional<StateError> error_of(const Write&);
  [[nodiscard]] bool is_state(const std::string& statement) const;

 private:
  struct Seen;
  struct Known;
  [[nodiscard]] std::optional<math::Program> limited(const math::Statement& state, const Write&) const;
  [[nodiscard]] const interp::References* references(math::Program, const std::string& key);

  const math::Program& statements_;
  const math::Program& written_;
  const interp::Arrays& inputs_;
  DimValues dims_;
  std::vector<interp::BoundOptions::Narrowed> narrowed_;
  std::map<std::string, double> units_;
  std::set<std::string> parts_;
  std::map<std::string, std::vector<Seen>> seen_;
  std::map<std::string, std::unique_ptr<Known>> known_;
  std::int64_t moves_ = 0;
};

}  // namespace fathom::session::stage
