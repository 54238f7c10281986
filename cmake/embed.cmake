# embed_texts(OUT.cpp NAME FILE…): C++ source with the files' bytes: `extern const EmbeddedText NAME[]; extern const unsigned NAME_count;`
# (struct EmbeddedText { const char* name; const char* text; }, name without extension). Remade when a file changes.
function(embed_texts out name)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake)
  string(REPLACE ";" "|" files "${ARGN}")
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} "-DFILES=${files}" -P ${script}
    DEPENDS ${ARGN} ${script}
    VERBATIM)
endfunction()
