#include "settings_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "keys.hpp"

namespace fathom::ui {
namespace {

using Json = nlohmann::ordered_json;

void take_theme(const Json& json, Settings& settings) {
  const auto theme = json.find("theme");
  if (theme == json.end() || !theme->is_string()) return;
  const std::string name = theme->get<std::string>();
  settings.follows_system = name != "light" && name != "dark";
  if (!settings.follows_system) settings.theme = name == "light" ? Theme::light : Theme::dark;
}

void take_keys(const Json& json, Settings& settings) {
  const auto keys = json.find("keys");
  if (keys == json.end() || !keys->is_object()) return;
  for (const auto& [id, combination] : keys->items())
    if (command_named(id) != nullptr && combination.is_string() && is_combination(combination.get<std::string>()))
      settings.keys[id] = combination.get<std::string>();
}

}  // namespace

std::string settings_text(const Settings& settings) {
  Json json;
  json["theme"] = settings.follows_system ? "system" : settings.theme == Theme::light ? "light" : "dark";
  json["scale"] = settings.scale;
  json["reduced_motion"] = settings.reduced_motion;
  json["keys"] = Json::object();
  for (const auto& [id, combination] : settings.keys) json["keys"][id] = combination;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Settings settings_of(const std::string& text) {
  Settings settings;
  if (session::is_nested_deeply(text)) return settings;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return settings;
  take_theme(json, settings);
  take_keys(json, settings);
  const auto scale = json.find("scale"), motion = json.find("reduced_motion");
  if (scale != json.end() && scale->is_number()) settings.scale = std::clamp(scale->get<float>(), least_scale, most_scale);
  if (motion != json.end() && motion->is_boolean()) settings.reduced_motion = motion->get<bool>();
  return settings;
}

}  // namespace fathom::ui
