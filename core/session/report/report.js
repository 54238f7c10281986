// Linking by origin, keys and theme; everything else of the page is plain HTML.
(() => {
  const lines = [...document.querySelectorAll('pre .l[data-o]')];
  const shares = (line, names) => line.dataset.o.split(' ').some((name) => names.has(name));
  let pinned = null;
  const light = (names) => lines.forEach((line) => line.classList.toggle('lit', names !== null && shares(line, names)));
  document.addEventListener('click', (event) => {
    const line = event.target.closest('pre .l[data-o]');
    if (!line) return;
    const same = pinned === line;
    pinned = same ? null : line;
    light(same ? null : new Set(line.dataset.o.split(' ')));
    const status = document.getElementById('lit-status');
    status.textContent = same ? '' : 'Showing every line that comes from ' + line.dataset.o.split(' ').join(', ') + '. Esc clears.';
  });
  const sections = [...document.querySelectorAll('section.step')];
  const links = (id) => document.querySelectorAll('a[href="#' + CSS.escape(id) + '"]');
  let current = null;
  const show = (id) => {
    if (id === current) return;
    document.querySelectorAll('.now').forEach((link) => link.classList.remove('now'));
    links(id).forEach((link) => link.classList.add('now'));
    current = id;
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) show(entry.target.id);
  }, { rootMargin: '-15% 0px -75% 0px' });
  sections.forEach((section) => observer.observe(section));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { pinned = null; light(null); document.getElementById('lit-status').textContent = ''; }
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest('input,textarea')) return;
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
    const at = sections.findIndex((section) => section.id === current);
    const next = sections[Math.min(sections.length - 1, Math.max(0, at + (event.key === 'ArrowRight' ? 1 : -1)))];
    if (next) { next.scrollIntoView(); show(next.id); event.preventDefault(); }
  });
  document.getElementById('theme').addEventListener('click', () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.includes('dark');
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  });
  document.querySelectorAll('button[data-copy]').forEach((button) => button.addEventListener('click', async () => {
    const text = [...document.getElementById(button.dataset.copy).querySelectorAll('.l:not(.del)')].map((line) => line.textContent).join('\n');
    try { await navigator.clipboard.writeText(text); button.textContent = 'Copied'; } catch { button.textContent = 'Select the text and copy it'; }
    setTimeout(() => { button.textContent = 'Copy'; }, 1600);
  }));
})();
