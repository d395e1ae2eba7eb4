// Help closes by a click elsewhere or by Escape.
document.addEventListener('click', e => document.querySelectorAll('details.wb-help[open]').forEach(d => {
  if (!d.contains(e.target)) d.open = false; }));
document.addEventListener('keydown', e => { if (e.key === 'Escape')
  document.querySelectorAll('details.wb-help[open]').forEach(d => { d.open = false;
    d.querySelector('summary').focus(); }); });
