// Reads the text of the Loop level (its grammar is in core/ir/loop_print.cpp). Head and statements are Math: they are handed to the Math
// parser as one text, in the order of the tree, and what it reports is moved back to where it stands here. The tree is read here.
#include <algorithm>

#include "lang/lang.hpp"
#include "lang/parser.hpp"

namespace fathom::lang {
namespace {

using loop::NodeRef;

/// The Math text and where its pieces come from.
class Splice {
 public:
  explicit Splice(std::string_view source) : source_(source) {}

  void copy(std::uint32_t begin, std::uint32_t end) {
    pieces_.push_back({static_cast<std::uint32_t>(text_.size()), begin, end - begin});
    text_ += source_.substr(begin, end - begin);
  }
  void add(std::string_view text) { text_ += text; }
  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] Diagnostics moved_back(Diagnostics diagnostics) const {
    for (Diagnostic& each : diagnostics) {
      each.span = moved_back(each.span);
      each.notes = moved_back(std::move(each.notes));
    }
    return diagnostics;
  }
  [[nodiscard]] SourceSpan moved_back(SourceSpan span) const {
    const auto back = [&](std::uint32_t at) {
      for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        if (at >= piece->at) return piece->from + std::min(at - piece->at, piece->size);
      }
      return at;
    };
    return {span.source, back(span.begin), back(span.end)};
  }

 private:
  struct Piece {
    std::uint32_t at, from, size;
  };
  std::string_view source_;
  std::string text_;
  std::vector<Piece> pieces_;
};

/// Reads the body twice: first for the statements' texts, then, when names are known, for the tree.
class LoopParser {
 public:
  LoopParser(std::string_view source, Sink& sink) : parser_(source, level_mode, sink), splice_(source) {}

  Checked<loop::Program> run() {
    if (!head()) return failed();
    const std::size_t body = parser_.position();
    block();
    if (!parser_.at_end()) parser_.unexpected("the end of the text");
    if (!parser_.sink().ok()) return failed();
    splice_.add("}\n");
    Checked<math::Program> program = parse_math(splice_.text());
    if (!program) return tl::unexpected<Diagnostics>(splice_.moved_back(program.error()));
    for (math::Statement& statement : program->statements) {
      for (SourceSpan& span : statement.origins) span = splice_.moved_back(span);
    }
    math_ = &*program;
    parser_.rewind(body);
    NodeRef root = block();
    if (!parser_.sink().ok()) return failed();
    return loop::Program{std::move(*program), std::move(root)};
  }

 private:
  tl::unexpected<Diagnostics> failed() { return tl::unexpected<Diagnostics>(parser_.sink().take()); }

  /// Everything before the body, `loops` turned into `operator`.
  bool head() {
    std::uint32_t begin = 0;
    while (!parser_.at_end() && !(parser_.at("loops") && parser_.peek(1).kind == TokenKind::name && parser_.at("(", 2))) parser_.next();
    if (parser_.at_end()) {
      parser_.unexpected("`loops NAME(…)`");
      return false;
    }
    splice_.copy(begin, parser_.peek().span.begin);
    splice_.add("operator ");
    parser_.next();
    begin = parser_.peek().span.begin;
    while (!parser_.at_end() && !parser_.at("{")) parser_.next();
    if (parser_.at_end()) {
      parser_.unexpected("`{`");
      return false;
    }
    splice_.copy(begin, parser_.peek().span.begin);
    splice_.add("{\n");
    return true;
  }

  [[nodiscard]] bool collecting() const { return math_ == nullptr; }

  static NodeRef node(loop::Node value) { return std::make_shared<const loop::Node>(std::move(value)); }

  /// `{ item … }`; a block of one item is that item.
  NodeRef block() {
    if (!parser_.expect("{", "before the statements")) return nullptr;
    if (!parser_.enter()) return nullptr;
    loop::Sequence items;
    while (!parser_.at_end() && !parser_.at("}")) {
      NodeRef each = item();
      if (!each) {
        parser_.leave();
        return nullptr;
      }
      items.items.push_back(std::move(each));
    }
    parser_.leave();
    if (!parser_.expect("}", "behind the statements")) return nullptr;
    return items.items.size() == 1 ? items.items.front() : node(std::move(items));
  }

  NodeRef item() {
    if (parser_.at("{")) return block_in_sequence();
    const bool names_index = parser_.peek(1).kind == TokenKind::name;
    if (names_index && parser_.at("combine")) return combine();
    static constexpr std::pair<std::string_view, loop::Mark> marks[] = {
        {"parallel", loop::Mark::parallel}, {"for", loop::Mark::sequential}, {"fold", loop::Mark::fold}};
    for (const auto& [word, mark] : marks) {
      if (names_index && parser_.at(word) && parser_.at("in", 2)) return a_loop(mark);
    }
    return statement();
  }

  /// A nest that is no loop stays a node of its own.
  NodeRef block_in_sequence() {
    NodeRef inner = block();
    if (!inner || std::holds_alternative<loop::Sequence>(*inner)) return inner;
    return node(loop::Sequence{{std::move(inner)}});
  }

  NodeRef a_loop(loop::Mark mark) {
    parser_.next();
    const auto index = parser_.name("an index");
    loop::Loop result;
    result.mark = mark;
    if (!index || !parser_.expect("in", "before the range")) return nullptr;
    result.index = *index;
    result.lo = expression();
    if (!result.lo || !parser_.expect(":", "between the bounds")) return nullptr;
    result.hi = expression();
    if (!result.hi || !parser_.expect("by", "before the tile size")) return nullptr;
    result.tile = expression();
    if (!result.tile || !ranges(result.ranges)) return nullptr;
    result.body = block();
    return result.body ? node(std::move(result)) : nullptr;
  }

  bool ranges(std::vector<loop::TileRange>& all) {
    if (!parser_.accept("[")) return true;
    do {
      loop::TileRange range;
      const auto tag = parser_.name("a tag");
      if (!tag) return false;
      range.tag = *tag;
      range.lo = expression();
      if (!range.lo || !parser_.expect(":", "between the bounds")) return false;
      range.hi = expression();
      if (!range.hi) return false;
      all.push_back(range);
    } while (parser_.accept(","));
    return parser_.expect("]", "behind the ranges");
  }

  NodeRef combine() {
    parser_.next();
    loop::Combine result;
    const auto split = parser_.name("an index");
    if (!split || !parser_.expect("of", "before the number of parts")) return nullptr;
    result.split = *split;
    result.count = expression();
    if (!result.count || !parser_.expect("{", "before the reductions")) return nullptr;
    do {
      const auto name = parser_.name("a reduction");
      if (!name) return nullptr;
      result.statements.push_back(*name);
    } while (parser_.accept(","));
    return parser_.expect("}", "behind the reductions") ? node(std::move(result)) : nullptr;
  }

  NodeRef statement() {
    const std::uint32_t begin = parser_.peek().span.begin;
    const auto name = parser_.name("a loop, `combine` or a statement");
    if (!name) return nullptr;
    if (parser_.accept("[") && !parser_.binds("]")) return nullptr;
    if (parser_.accept(":") && !parser_.dtype()) return nullptr;
    if (!parser_.expect("=", "in a statement") || parser_.expression() == nullptr) return nullptr;
    if (parser_.at("with") && !repair()) return nullptr;
    if (collecting()) {
      splice_.copy(begin, parser_.span_from(begin).end);
      splice_.add("\n");
    }
    return node(loop::Leaf{*name});
  }

  /// Skips `with repair { … }`: the Math parser reads it.
  bool repair() {
    parser_.next();
    if (!parser_.expect("repair", "behind `with`") || !parser_.expect("{", "before the repair")) return false;
    for (int depth = 1; depth > 0;) {
      if (parser_.at_end()) {
        parser_.unexpected("`}` behind the repair");
        return false;
      }
      depth += parser_.at("{") ? 1 : parser_.at("}") ? -1 : 0;
      parser_.next();
    }
    return true;
  }

  /// While collecting, names have no meaning yet: any expression will do.
  Expr expression() {
    if (collecting()) return parser_.expression() == nullptr ? Expr() : number(0);
    Scope scope;
    scope.bare = [this](Symbol name) {
      if (math_->dimension(name) != nullptr) return dim(name);
      if (math_->param(name) != nullptr) return read(name, {});
      return index(name);
    };
    return parser_.expression(scope);
  }

  Parser parser_;
  Splice splice_;
  const math::Program* math_ = nullptr;
};

}  // namespace

Checked<loop::Program> parse_loop(std::string_view source) {
  Sink sink;
  return LoopParser(source, sink).run();
}

}  // namespace fathom::lang
