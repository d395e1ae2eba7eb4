// Help closes by a click elsewhere or by Escape.
document.addEventListener('click', event => {
  for (const help of document.querySelectorAll('details.wb-help[open]'))
    if (!help.contains(event.target)) help.open = false;
});
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return;
  for (const help of document.querySelectorAll('details.wb-help[open]')) {
    help.open = false;
    help.querySelector('summary').focus();
  }
});

// The server says in data-value what a control should show. While someone uses the control, what comes back
// from the server is older than what is seen: it waits until the hand rests.
const REST = 700;
const used = new WeakMap();
document.addEventListener('input', event => used.set(event.target, performance.now()), true);
function take(control) {
  const wanted = control.dataset.value;
  if (wanted === undefined || control.value === wanted) return;
  const since = performance.now() - (used.get(control) ?? -1e9);
  if (document.activeElement === control && since < REST) setTimeout(() => take(control), REST - since + 20);
  else control.value = wanted;
}
new MutationObserver(changes => {
  for (const change of changes) {
    if (change.type === 'attributes') take(change.target);
    for (const node of change.addedNodes)
      if (node instanceof HTMLElement) {
        if (node.dataset.value !== undefined) take(node);
        node.querySelectorAll('[data-value]').forEach(take);
      }
  }
}).observe(document.documentElement, {subtree: true, childList: true, attributeFilter: ['data-value']});

// A button that asks for a file sends it to the server, or says that it is too large.
function sendFile(address, largest, tooLarge) {
  const asked = document.createElement('input');
  asked.type = 'file';
  asked.onchange = () => {
    const file = asked.files[0];
    if (file.size > largest) tooLarge();
    else fetch(address, {method: 'POST', body: file, headers: {'X-Name': encodeURIComponent(file.name)}});
  };
  asked.click();
}
