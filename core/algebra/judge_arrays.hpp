// Trials: one consumer reduction run on a small array, by its text and as a fold over segments. Reads of running producers are taken at the
// segment that is covered, everything else is complete. A trial is bounded in work and depth; what exceeds them is NaN.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/view.hpp"
#include "ir/record.hpp"

namespace fathom::algebra {

struct Table {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

/// Inputs of a program at small dimensions.
struct Inputs {
  DimValues dims;
  std::map<Symbol, Table> tables;
};

/// Half-open, positions of the consumer's (first) reduction index.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend auto operator<=>(const Segment&, const Segment&) = default;
};

enum class Arithmetic : std::uint8_t { wide, single_range };

/// How a consumer rides: what is carried about which gauges.
struct Form {
  std::vector<math::Gauge> gauges;
  std::vector<math::Carried> carried;
  Expr project;
};
[[nodiscard]] std::optional<Form> form_of(const Fusion&);

/// State of a fold over a segment.
struct Riding {
  Segment covered;
  bool set = false;  ///< every gauge has a reference
  std::vector<double> gauges;
  std::vector<double> carried;
};

using Symbols = std::vector<std::pair<Symbol, double>>;

class Trial {
 public:
  /// `running`: the consumer and the producers that share its pass (running_with). The view and the inputs must outlive the trial.
  Trial(const ProgramView&, const math::Statement& consumer, const std::set<Symbol>& running, const Inputs&, Arithmetic);

  /// The whole range of the loop at `point`, a value for each of the consumer's axes.
  void stand_at(std::vector<std::int64_t> point);
  [[nodiscard]] const std::vector<std::int64_t>& point() const { return point_; }
  [[nodiscard]] Segment whole();

  /// The consumer's value by its text, the segment as if it were everything.
  [[nodiscard]] double text(Segment covered);
  /// The text's reduction of the elements of `tile`, producers at `covered`.
  [[nodiscard]] double text_of(Segment tile, Segment covered);
  /// An expression over the consumer's indices, producers at `covered`.
  [[nodiscard]] double value(Expr, Segment covered, const Symbols&);

  /// The rolling update by a tile; `from` may be empty (covered.begin == covered.end).
  [[nodiscard]] Riding grown(const Form&, const Riding& from, Segment tile);
  /// Two neighbouring segments merged.
  [[nodiscard]] Riding merged(const Form&, const Riding& left, const Riding& right);
  [[nodiscard]] double projected(const Form&, const Riding&);
  [[nodiscard]] Riding nothing(const Form&, std::int64_t at);
  /// The gauges where they stand once the segment is covered; nothing is carried.
  [[nodiscard]] Riding standing(const Form&, Segment covered);
  /// What the tile's elements contribute to the first carrier about the gauges of `about`.
  [[nodiscard]] double contribution(const Form&, const Riding& about, Segment tile);
  /// What is carried, moved from one reference to the next.
  [[nodiscard]] std::vector<double> moved(const Form&, const Riding& from, const Riding& to);

  /// A read whose value the fold must know by another name: move expressions may use these (old and primed).
  void name_producer(Symbol name, Expr read) { named_.emplace_back(name, read); }
  [[nodiscard]] bool gave_up() const { return work_ > most_work; }
  void restart_work() { work_ = 0; }

  static constexpr std::int64_t most_work = 400'000;

 private:
  struct Frame;
  double evaluate(Expr, Frame&);
  double read_value(Expr, Frame&);
  /// What is folded over which axes: a reduction of the text, or what a fold carries.
  struct Folding {
    const std::vector<math::Axis>* over;
    const Reducer* reducer;
    Symbol result;
    std::span<const Expr> values;
  };
  static Folding folding(const math::Reduction&);
  double reduced(const Folding&, Frame&, bool restricted, Segment tile);
  /// The one operation of a Reducer that has only one, and whether its only result is its state.
  struct Operation {
    const Reducer* reducer;
    std::optional<Op> op;
    bool gives_state;
  };
  const Operation& operation_of(const Reducer&);
  [[nodiscard]] Frame frame(Segment covered, const Symbols&);
  void set_gauges(const Form&, Riding&);
  [[nodiscard]] double rounded(double) const;

  const ProgramView* view_;
  const math::Statement* consumer_;
  std::set<Symbol> running_;
  const Inputs* inputs_;
  Arithmetic arithmetic_;
  std::vector<std::int64_t> point_;
  std::vector<std::pair<Symbol, Expr>> named_;
  /// A statement that is read, and the places that it has; the ranges of its axes are those of the inputs' dimensions.
  struct Tensor {
    const math::Statement* statement;
    std::vector<Segment> ranges;
    std::size_t places = 0;  ///< 0: ranges that no dimensions give, nothing of it is kept
    [[nodiscard]] std::optional<std::size_t> place_of(std::span<const std::int64_t> at) const;
  };
  [[nodiscard]] const Table* table_named(Symbol) const;
  std::size_t tensor_named(Symbol);  ///< its position in tensors_; tensors_.size() where there is none
  std::vector<Tensor> tensors_;
  std::vector<std::pair<Symbol, const Table*>> tables_;  ///< of the inputs: a handful, found by comparing interned names
  /// Values of the tensors while a segment is covered, by place; empty: not computed yet.
  struct Memo {
    Segment covered;
    std::vector<std::vector<std::optional<double>>> values;
  };
  Memo& memo_of(Segment);
  std::vector<std::unique_ptr<Memo>> memos_;  ///< frames point into them
  std::vector<Operation> operations_;
  std::int64_t work_ = 0;
  int depth_ = 0;
};

/// The consumer, and the producers that run beside it: those of its fusion in its pass, and theirs.
[[nodiscard]] std::set<Symbol> running_with(const std::vector<Fusion>&, const Fusion& consumer);

/// Dimensions small enough for trials: the consumer's loop has `length` elements where dimensions decide that, other dimensions are 1.
/// Nullopt where the operator's conditions forbid that and every other choice that is tried.
[[nodiscard]] std::optional<DimValues> small_dims(const math::Program&, const math::Statement& consumer, std::int64_t length);

/// Shape of a parameter at these dimensions.
[[nodiscard]] std::optional<std::vector<std::int64_t>> shape_of(const math::Parameter&, const DimValues&);
/// The parameters that the consumer needs, directly or through statements, in the program's order.
[[nodiscard]] std::vector<const math::Parameter*> parameters_of(const math::Program&, const math::Statement& consumer);
/// The operator's conditions hold for these inputs.
[[nodiscard]] bool is_admitted(const ProgramView&, const math::Statement& consumer, const Inputs&);

/// "s = [0, -inf, 2], tau = 0.5".
[[nodiscard]] std::string text_of(const Inputs&, const std::vector<const math::Parameter*>&);
[[nodiscard]] std::string number_text(double);

}  // namespace fathom::algebra
