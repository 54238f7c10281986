// Code points of the icon face (Material Design Icons), as UTF-8; tools/fonts.py reads them from the comments.
#pragma once

namespace fathom::ui::icons {

inline constexpr const char* play = "\xEF\x90\x8A";           // F40A
inline constexpr const char* pause = "\xEF\x8F\xA4";          // F3E4
inline constexpr const char* first = "\xEF\x92\xAE";          // F4AE
inline constexpr const char* last = "\xEF\x92\xAD";           // F4AD
inline constexpr const char* alert = "\xEF\x80\xA6";          // F026
inline constexpr const char* lock = "\xEF\x8C\xBE";           // F33E
inline constexpr const char* unlock = "\xEF\x8D\x80";         // F340
inline constexpr const char* undo = "\xEF\x95\x8C";           // F54C
inline constexpr const char* redo = "\xEF\x91\x8E";           // F44E
inline constexpr const char* copy = "\xEF\x86\x8F";           // F18F
inline constexpr const char* chip = "\xEF\x98\x9A";           // F61A
inline constexpr const char* search = "\xEF\x8D\x89";         // F349
inline constexpr const char* close = "\xEF\x85\x96";          // F156
inline constexpr const char* chevron_down = "\xEF\x85\x80";   // F140
inline constexpr const char* chevron_left = "\xEF\x85\x81";   // F141
inline constexpr const char* chevron_right = "\xEF\x85\x82";  // F142

}  // namespace fathom::ui::icons
