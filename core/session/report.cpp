// The lowering as one self-contained HTML page: program, life of every tensor, derivations, each step with its difference, checks and
// costs. Everything is read from the record; the page needs no network and is readable without its script.
#include <fmt/format.h>

#include <algorithm>

#include "ir/embedded_text.hpp"
#include "ir/units.hpp"
#include "session/mathml.hpp"
#include "session/provenance.hpp"
#include "session/text_diff.hpp"

extern const EmbeddedText report_css[];
extern const EmbeddedText report_js[];

namespace fathom::session {
namespace {

/// One line of IR: names coloured by the source tensor they come from, keywords dimmed.
std::string coloured(std::string_view line, std::size_t step, const Provenance& provenance) {
  std::string out;
  for (const Word& word : words_of(line)) {
    const std::string written(text_of(line, word)), text = escape_html(written);
    const auto colour = word.kind == WordKind::name ? provenance.colour(provenance.origin(step, written)) : std::nullopt;
    if (word.kind == WordKind::comment)
      out += "<span class=\"c\">" + text + "</span>";
    else if (word.kind == WordKind::keyword)
      out += "<span class=\"k\">" + text + "</span>";
    else
      out += colour ? fmt::format("<span class=\"e{}\">{}</span>", *colour, text) : text;
  }
  return out;
}

/// Source tensors behind the names that a line defines.
Names line_origins(std::string_view line, std::size_t step, const Provenance& provenance) {
  Names found;
  for (const std::string& name : defined_in(line)) found.merge(provenance.origin(step, name));
  return found;
}

std::string code_line(const DiffLine& line, std::size_t step, const Provenance& provenance) {
  const Names origins = line_origins(line.text, step, provenance);
  const std::string mark = line.mark == '+' ? " add" : line.mark == '-' ? " del" : "";
  const std::string linked = origins.empty() ? "" : fmt::format(" data-o=\"{}\"", fmt::join(origins, " "));
  const std::string content = coloured(line.text, step, provenance);
  return fmt::format("<span class=\"l{}\"{}>{}</span>", mark, linked, content.empty() ? " " : content);
}

std::string code_block(const std::vector<DiffLine>& lines, std::size_t step, const Provenance& provenance, const std::string& id) {
  std::string out = fmt::format("<div class=\"ir scroll\"><pre id=\"{}\">", id);
  for (const DiffLine& line : lines) out += code_line(line, step, provenance);
  return out + "</pre></div>";
}

/// Changed lines with three lines around them; longer unchanged runs become one line that says how many.
std::string difference(const Step& step, std::size_t number, const Provenance& provenance) {
  constexpr std::size_t context = 3;
  const std::string before = print(step.before), after = print(step.after);
  const auto lines = diff_lines(before, after);
  std::vector<bool> keep(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].mark != ' ')
      for (std::size_t k = i > context ? i - context : 0; k < std::min(lines.size(), i + context + 1); ++k) keep[k] = true;
  std::string out = fmt::format("<div class=\"ir scroll\"><pre id=\"diff-{}\">", number);
  for (std::size_t i = 0; i < lines.size();) {
    if (keep[i]) {
      out += code_line(lines[i], number, provenance);
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < lines.size() && !keep[end]) ++end;
    out += fmt::format("<span class=\"fold\">… {} unchanged line{}</span>", end - i, end - i == 1 ? "" : "s");
    i = end;
  }
  return out + "</pre></div>";
}

std::string check_chip(const Check& check) {
  const char* kind = check.status == CheckStatus::passed         ? "ok"
                     : check.status == CheckStatus::failed       ? "bad"
                     : check.status == CheckStatus::inconclusive ? "warn"
                                                                 : "";
  std::string text(name(check.status));
  if (check.status == CheckStatus::passed)
    text = fmt::format("✓ {} cases, max error {:.1e} of {:.1e} allowed", check.cases.size(), check.max_error.value_or(0),
                       check.bound.value_or(0));
  if (check.status == CheckStatus::failed) text = "✕ failed: " + check.reason;
  if (check.status == CheckStatus::inconclusive) text = "≈ inconclusive: " + check.reason;
  if (check.status == CheckStatus::pending) text = "◌ not checked yet";
  return fmt::format("<span class=\"chip {}\">{}</span>", kind, escape_html(text));
}

std::string quantity(const char* label, double before, double after, const std::string& before_text, const std::string& after_text) {
  if (before == after)
    return fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n muted\">unchanged</td></tr>", label, after_text);
  return fmt::format("<tr class=\"delta\"><td>{}</td><td class=\"n\"><b class=\"{}\">{}</b></td><td class=\"n muted\">was {}</td></tr>",
                     label, after < before ? "down" : "up", after_text, before_text);
}

std::string cost_table(const Cost& before, const Cost& after) {
  return "<table>" + quantity("main memory traffic", before.bytes, after.bytes, bytes_text(before.bytes), bytes_text(after.bytes)) +
         quantity("arithmetic", before.flops, after.flops, count_text(before.flops) + "FLOP", count_text(after.flops) + "FLOP") +
         quantity("exponentials and the like", before.exps, after.exps, count_text(before.exps), count_text(after.exps)) +
         quantity("on-chip working set", before.on_chip_bytes, after.on_chip_bytes, bytes_text(before.on_chip_bytes),
                  bytes_text(after.on_chip_bytes)) +
         quantity("predicted time", before.ms, after.ms, milliseconds_text(before.ms), milliseconds_text(after.ms)) + "</table>";
}

std::string decision_table(const Decision& decision) {
  std::string out = fmt::format(
      "<h4>Decision <code>{}</code></h4><p class=\"small\">{}</p><table><tr><th>choice</th><th "
      "class=\"n\">predicted</th><th>&nbsp;</th></tr>",
      escape_html(decision.site), escape_html(decision.reason));
  for (const Alternative& each : decision.alternatives) {
    const bool taken = each.choice == decision.choice;
    out += fmt::format("<tr><td>{} <code>{}</code></td><td class=\"n\">{}</td><td class=\"small\">{}</td></tr>",
                       each.refused ? "⊘"
                       : taken      ? "●"
                                    : "○",
                       escape_html(each.choice), each.predicted_ms ? milliseconds_text(*each.predicted_ms) : "",
                       each.refused ? escape_html(each.refused->reason)
                       : taken      ? fmt::format("chosen by {}", name(decision.origin))
                                    : "");
  }
  return out + "</table>";
}

std::string refusal_block(const Refusal& refusal) {
  return fmt::format("<div class=\"refusal\">{}{}</div>", escape_html(refusal.reason),
                     refusal.hint.empty() ? "" : " <span class=\"muted\">" + escape_html(refusal.hint) + "</span>");
}

std::string derivation_table(const std::vector<DerivationLine>& lines) {
  std::string out = "<div class=\"scroll\"><table class=\"derivation\">";
  for (const DerivationLine& line : lines)
    out += fmt::format("<tr><td>{}</td><td class=\"rule\">{}{}</td></tr>", mathml(line.after), escape_html(line.rule),
                       line.equation.empty() ? "" : "<br><code>" + escape_html(line.equation) + "</code>");
  return out + "</table></div>";
}

std::string joined(const std::vector<Symbol>& symbols) {
  std::string out;
  for (const Symbol each : symbols) out += (out.empty() ? "<code>" : ", <code>") + escape_html(each.text()) + "</code>";
  return out;
}

std::string fusion_card(const Fusion& fusion) {
  std::string out = fmt::format("<h3><code>{}</code> <span class=\"chip {}\">{}</span></h3>", escape_html(fusion.consumer.text()),
                                fusion.refusal ? "warn" : "ok", fusion.refusal ? "needs another pass" : name(fusion.kind));
  if (!fusion.producers.empty()) out += fmt::format("<p class=\"small muted\">reads {} over the same index</p>", joined(fusion.producers));
  if (fusion.refusal) return out + refusal_block(*fusion.refusal);
  if (fusion.repair)
    for (const math::Carried& carried : fusion.repair->carried)
      out += fmt::format("<div class=\"law\">{} &nbsp;←&nbsp; {}</div>", mathml(symbol(carried.name)), mathml(carried.move));
  if (!fusion.delayed.empty())
    out += fmt::format("<p class=\"small\">Applied once at the end: <code>{}</code></p>", escape_html(fusion.delayed));
  if (!fusion.guard.empty()) out += fmt::format("<p class=\"small\">Guard: {}</p>", escape_html(fusion.guard));
  if (!fusion.certificate.empty()) out += fmt::format("<p class=\"small muted\">{}</p>", escape_html(fusion.certificate));
  if (!fusion.derivation.empty())
    out += fmt::format("<details{}><summary>Derivation, {} lines</summary>{}</details>", fusion.repair ? " open" : "",
                       fusion.derivation.size(), derivation_table(fusion.derivation));
  return out;
}

std::string hero(const Compilation& compilation, const Provenance& provenance) {
  const auto& steps = compilation.record.steps;
  std::string source = "<div class=\"source scroll\"><pre id=\"program\">";
  for (const std::string_view line : lines_of(compilation.inputs.source)) source += code_line({' ', line}, 0, provenance);
  source += "</pre></div>";
  const auto passed = std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.check.status == CheckStatus::passed; });
  double stored = 0;
  for (const Step& step : steps) stored = std::max(stored, stored_bytes(step));
  std::string dims;
  for (const math::Dimension& each : compilation.program.dims)
    dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", each.name.text(), each.value);
  return fmt::format(
      "<div class=\"panel hero\"><div><h2>{}</h2><p class=\"muted small\">{}</p>{}</div><div class=\"figures\">"
      "<div class=\"figure\"><span class=\"small muted\">intermediates in main memory</span><b>{} <span class=\"was\">was "
      "{}</span></b></div>"
      "<div class=\"figure\"><span class=\"small muted\">main memory traffic, predicted</span><b>{} <span class=\"was\">was "
      "{}</span></b></div>"
      "<div class=\"figure\"><span class=\"small muted\">exponentials and the like</span><b>{} <span class=\"was\">was {}</span></b></div>"
      "<div class=\"figure\"><span class=\"small muted\">steps whose check passed</span><b>{} <span class=\"was\">of "
      "{}</span></b></div></div></div>",
      escape_html(compilation.program.name.text()), escape_html(dims), source, bytes_text(stored_bytes(steps.back())), bytes_text(stored),
      bytes_text(steps.back().cost.bytes), bytes_text(steps.front().cost.bytes), count_text(steps.back().cost.exps),
      count_text(steps.front().cost.exps), passed, steps.size());
}

const char* place_class(const std::string& place) {
  if (place == "main memory") return "memory";
  if (place == "tile, on chip") return "chip";
  if (place == "registers") return "reg";
  if (place == "argument" || place == "result") return "arg";
  return "none";
}

std::string life_chart(const Compilation& compilation, const Provenance& provenance) {
  const auto& steps = compilation.record.steps;
  std::vector<Symbol> tensors;
  for (const Step& step : steps)
    for (const TensorLife& life : step.lives)
      if (std::find(tensors.begin(), tensors.end(), life.tensor) == tensors.end()) tensors.push_back(life.tensor);
  std::string out =
      "<div class=\"panel\"><h2>Life of every tensor</h2><p class=\"muted small\">One column a step. Where a tensor lives after it, and "
      "how many bytes of it are alive at once.</p><div class=\"life\">";
  for (const Symbol tensor : tensors) {
    std::string cells;
    for (std::size_t i = 0; i < steps.size();) {
      const auto find = [&](const Step& step) {
        const auto at = std::find_if(step.lives.begin(), step.lives.end(), [&](const TensorLife& life) { return life.tensor == tensor; });
        return at == step.lives.end() ? nullptr : &*at;
      };
      const TensorLife* life = find(steps[i]);
      std::size_t end = i + 1;
      while (end < steps.size()) {
        const TensorLife* next = find(steps[end]);
        if ((life == nullptr) != (next == nullptr) || (life != nullptr && (life->place != next->place || life->bytes != next->bytes)))
          break;
        ++end;
      }
      const std::string text = life == nullptr || life->bytes == 0 ? "" : bytes_text(life->bytes);
      cells += fmt::format("<div class=\"cell {}\" style=\"grid-column:span {}\" title=\"{}\">{}</div>",
                           life == nullptr ? "none" : place_class(life->place), end - i,
                           life == nullptr ? "not there" : escape_html(facts_of(*life)), text);
      i = end;
    }
    const auto colour = provenance.colour(provenance.origin(steps.size() - 1, tensor.text()));
    out += fmt::format("<div class=\"row\"><span class=\"name{}\">{}</span><div class=\"cells\">{}</div></div>",
                       colour ? fmt::format(" e{}", *colour) : "", escape_html(tensor.text()), cells);
  }
  return out +
         "</div><div class=\"key\"><span><i style=\"background:color-mix(in srgb,var(--bad) 38%,var(--panel))\"></i>main "
         "memory</span><span><i style=\"background:color-mix(in srgb,var(--accent) "
         "34%,var(--panel))\"></i>tile, on chip</span><span><i style=\"background:color-mix(in srgb,var(--ok) "
         "34%,var(--panel))\"></i>registers</span><span><i style=\"background:var(--raised)\"></i>argument or "
         "result</span></div></div>";
}

std::string legality(const Compilation& compilation) {
  std::string out =
      "<div class=\"panel\"><h2>Why it is legal</h2><p class=\"muted small\">Derived by named rules, for each reduction of the "
      "program.</p>";
  for (const Fusion& fusion : compilation.record.fusions) out += fusion_card(fusion);
  return out + "</div>";
}

std::string step_section(const Compilation& compilation, std::size_t number, const Provenance& provenance) {
  const Step& step = compilation.record.steps[number];
  const Cost before = number == 0 ? step.cost : compilation.record.steps[number - 1].cost;
  std::string out = fmt::format(
      "<section class=\"panel step\" id=\"{}\"><div class=\"head\"><h2>{}</h2><span class=\"chip\">{}</span>{}</div><p "
      "class=\"says\">{}</p>",
      escape_html(step.id), escape_html(step.title), name(step.level), check_chip(step.check), escape_html(step.says));
  if (!step.rule.empty()) out += fmt::format("<p class=\"small muted\">Rule: {}</p>", escape_html(step.rule));
  for (const Refusal& refusal : step.refusals) out += refusal_block(refusal);
  const bool new_level = step.before.level != step.after.level;
  const std::string after = print(step.after);
  std::vector<DiffLine> whole;
  for (const std::string_view line : lines_of(after)) whole.push_back({' ', line});
  if (new_level) {
    out += code_block(whole, number, provenance, fmt::format("ir-{}", number));
  } else {
    if (step.changed) out += difference(step, number, provenance);
    out += fmt::format("<details><summary>The whole {} program after this step</summary>{}</details>", name(step.level),
                       code_block(whole, number, provenance, fmt::format("ir-{}", number)));
  }
  out += fmt::format("<button data-copy=\"ir-{}\">Copy</button>", number);
  out += "<div class=\"two\"><div><h4>Cost after this step</h4>" + cost_table(before, step.cost) + "</div><div>";
  if (step.decision) out += decision_table(*step.decision);
  return out + "</div></div></section>";
}

std::string ribbon(const Compilation& compilation) {
  std::string out = "<nav class=\"ribbon\" aria-label=\"Steps\">";
  std::optional<Level> level;
  for (const Step& step : compilation.record.steps) {
    if (level != step.level) out += fmt::format("{}<span class=\"level\">{}&nbsp;", level ? "</span>" : "", name(step.level));
    level = step.level;
    const bool mine = step.decision && step.decision->origin == Origin::by_user;
    out += fmt::format("<a href=\"#{}\" class=\"{}{}{}\" title=\"{}\" aria-label=\"{}\"></a>", escape_html(step.id),
                       step.changed ? "" : "same", mine ? " mine" : "", step.check.status == CheckStatus::failed ? " failed" : "",
                       escape_html(step.title), escape_html(step.title));
  }
  return out + "</span></nav>";
}

std::string step_list(const Compilation& compilation) {
  std::string out = "<nav class=\"steps panel\" aria-label=\"Steps\">";
  std::optional<Level> level;
  for (const Step& step : compilation.record.steps) {
    if (level != step.level) out += fmt::format("<div class=\"level\">{}</div>", name(step.level));
    level = step.level;
    const char* mark = step.check.status == CheckStatus::passed         ? "✓"
                       : step.check.status == CheckStatus::failed       ? "✕"
                       : step.check.status == CheckStatus::inconclusive ? "≈"
                                                                        : "◌";
    out += fmt::format("<a href=\"#{}\"><span>{}</span><span>{}</span></a>", escape_html(step.id), mark, escape_html(step.title));
  }
  return out + "</nav>";
}

}  // namespace

std::string report_html(const Compilation& compilation) {
  const Provenance provenance(compilation);
  const std::string title = fmt::format("{} on {}: the whole lowering", compilation.program.name.text(), compilation.target.name.text());
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title>"
      "<meta name=\"description\" content=\"How {1} is lowered, step by step, with derivations, checks and "
      "costs.\"><style>{2}</style></head><body>"
      "<header class=\"bar\"><h1>{1} <span class=\"on\">on {3}</span></h1>{4}<button id=\"theme\">Light / dark</button></header><main>",
      escape_html(title), escape_html(compilation.program.name.text()), report_css[0].text, escape_html(compilation.target.name.text()),
      ribbon(compilation));
  page += hero(compilation, provenance) + life_chart(compilation, provenance) + legality(compilation);
  page +=
      "<p class=\"muted small\" id=\"lit-status\" role=\"status\">Click a line of any program to light up its origin at every level. Arrow "
      "keys go from step to step.</p>";
  page += "<div class=\"layout\">" + step_list(compilation) + "<div>";
  for (std::size_t i = 0; i < compilation.record.steps.size(); ++i) page += step_section(compilation, i, provenance);
  page += fmt::format(
      "</div></div></main><footer><p>Derived: by named rules. Checked: against the reference, on the shapes and data stated. Predicted: by "
      "the cost model of {}. Nothing here is a measurement unless it says so.</p></footer><script>{}</script></body></html>\n",
      escape_html(compilation.target.title), report_js[0].text);
  return page;
}

}  // namespace fathom::session
