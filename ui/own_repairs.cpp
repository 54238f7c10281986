#include "own_repairs.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "app.hpp"
#include "lesson.hpp"

namespace fathom::ui {

const std::vector<session::RepairQuestion>& OwnRepairs::questions(const Document& document) {
  if (document.shown() == nullptr) {
    made_for_.reset();
    questions_.clear();
  } else if (made_for_ != document.version()) {
    made_for_ = document.version();
    questions_ = session::repair_questions(document.shown()->compilation());
  }
  return questions_;
}

const session::RepairQuestion* OwnRepairs::question(const Document& document, const std::string& consumer) {
  const auto& all = questions(document);
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.consumer.text() == consumer; });
  return at == all.end() ? nullptr : &*at;
}

const session::OwnRepair* OwnRepairs::judge(const Document& document, const std::string& consumer, const std::string& text) {
  if (document.shared() == nullptr || text.empty()) return nullptr;
  Asked asked{document.version(), consumer, text};
  if (judged_ && judged_->first == asked) return &judged_->second;
  if (!(asked_ == asked)) {
    asked_ = asked;
    judging_.start("judge", [this, asked, shown = document.shared()](const Cancel&, const auto& deliver) {
      auto own = std::make_shared<session::OwnRepair>(session::judge_own_repair(shown->compilation(), Symbol(asked.consumer), asked.text));
      deliver([this, asked, own] { judged_.emplace(asked, *own); });
    });
  }
  return nullptr;
}

std::string asked_consumer(const App& app) {
  const std::string consumer = why_consumer(app);
  return app.own_repairs.question(app.document, consumer) == nullptr ? std::string() : consumer;
}

std::string typed_repair(const App& app) {
  const std::string consumer = asked_consumer(app);
  const auto typed = app.view.repairs.find(consumer);
  return consumer.empty() || typed == app.view.repairs.end() ? std::string() : typed->second;
}

const session::OwnRepair* written_repair(const App& app) {
  return app.own_repairs.judge(app.document, asked_consumer(app), typed_repair(app));
}

void collect_repairs(App& app) {
  if (!app.own_repairs.collect()) return;
  const session::OwnRepair* own = written_repair(app);
  if (own == nullptr) return;
  if (app.own_repairs.is_wished(asked_consumer(app), own->text) && own->is_right()) take_written_repair(app, false);
  app.own_repairs.drop_wish();
}

std::string why_not_taken(const App& app) {
  const session::OwnRepair* own = written_repair(app);
  if (own != nullptr && own->mistake) return own->mistake->message + (own->mistake->cure.empty() ? "." : ". " + own->mistake->cure);
  const session::RepairQuestion* question = app.own_repairs.question(app.document, asked_consumer(app));
  return question == nullptr ? std::string() : question->blocked;
}

void take_written_repair(App& app, bool even_unsound) {
  const session::OwnRepair* own = written_repair(app);
  if (own == nullptr) return app.own_repairs.wish(asked_consumer(app), typed_repair(app));
  const session::RepairQuestion* question = app.own_repairs.question(app.document, asked_consumer(app));
  if (even_unsound && !own->is_right() && question != nullptr && !question->fuse_site.empty()) {
    app.view.step = question->fuse_site;  // before it nothing is wrong yet
    app.view.compare_with.clear();
  }
  app.document.change([consumer = Symbol(asked_consumer(app)), text = own->text, even_unsound](session::Session& session) {
    return session::take_own_repair(session, consumer, text, even_unsound);
  });
}

}  // namespace fathom::ui
