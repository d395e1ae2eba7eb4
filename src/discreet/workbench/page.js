// A click elsewhere, or Escape, closes the help.
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

// Every message of a control to the server has a number, and the page shows the number of the last message
// that the server has received. Whatever is drawn from a state carries the number of that state in data-of.
// It is dimmed while it belongs to another state than the page, or while the server has not received the
// last message. The browser does this, so it also works when the server is gone.
const names = new Map();
let asked = 0, last = '', told;
function tell(event, emit) {
  const control = event.target;
  const value = control.type === 'checkbox' ? control.checked
    : control.type === 'range' ? Number(control.value) : control.value;
  asked += 1;
  last = control.ariaLabel;
  emit(value, asked);
  weigh();
}
function isWaiting(page) {
  return asked > Number(page?.dataset.heard);
}
function weigh() {
  const page = document.getElementById('content');
  if (!page) return;
  const {now, name} = page.dataset, waits = isWaiting(page);
  names.set(now, name);
  let of = waits ? now : undefined;
  if (waits) document.body.dataset.waits = last;
  else delete document.body.dataset.waits;
  for (const drawn of document.querySelectorAll('[data-of]')) {
    const stale = waits || drawn.dataset.of !== now;
    drawn.toggleAttribute('data-stale', stale);
    if (stale && names.has(drawn.dataset.of) && drawn.checkVisibility()) of = drawn.dataset.of;
  }
  sayWhose(names.get(of));
}
// Say whose numbers are dimmed only if they stay dimmed, not at every step of a slider.
function sayWhose(name) {
  const note = document.getElementById('whose');
  const text = name ? `The dimmed numbers are those of ${name}.` : '';
  if (!note || note.dataset.text === text) return;
  note.dataset.text = text;
  clearTimeout(told);
  const write = () => { note.textContent = text; };
  if (text) told = setTimeout(write, 400);
  else write();
}

// While a key is held, a slider or a list moves step by step; it counts as let go when the key is.
let held = false, letGo;
document.addEventListener('keydown', () => { held = true; }, true);
for (const end of ['keyup', 'focusout', 'visibilitychange'])
  document.addEventListener(end, () => {
    held = false;
    const act = letGo;
    letGo = undefined;
    act?.();
  }, true);
function settle(event, emit) {
  const {target} = event;
  if (!held) return tell(event, emit);
  if (target.type !== 'range') {  // a slider has sent every step already
    asked += 1;
    last = target.ariaLabel;
  }
  weigh();
  letGo = () => tell({target}, emit);
}

// The server says in data-value what a control should show. While someone uses the control, or the server has
// not heard of its last move, the server's value is older than the one on screen: it is applied afterwards.
const REST = 700;
const used = new WeakMap();
document.addEventListener('input', event => used.set(event.target, performance.now()), true);
function take(control) {
  const wanted = control.dataset.value;
  if (wanted === undefined || control.value === wanted) return;
  const rest = REST - (performance.now() - (used.get(control) ?? -1e9));
  const isUsed = document.activeElement === control && used.has(control);
  if (isUsed && (rest > 0 || isWaiting(document.getElementById('content'))))
    setTimeout(() => take(control), Math.max(rest, 80) + 20);
  else control.value = wanted;
}
new MutationObserver(changes => {
  for (const change of changes) {
    if (change.type === 'attributes' && change.attributeName === 'data-value') take(change.target);
    for (const node of change.addedNodes)
      if (node instanceof HTMLElement) {
        if (node.dataset.value !== undefined) take(node);
        node.querySelectorAll('[data-value]').forEach(take);
      }
  }
  weigh();
}).observe(document.documentElement, {
  subtree: true, childList: true, attributeFilter: ['data-value', 'data-of', 'data-now', 'data-heard'],
});

// Back and forward move between pages and releases within the workbench.
function keepAddress(address, isNew) {
  if (isNew && location.pathname !== '/') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}
window.addEventListener('popstate', () => {
  const button = document.getElementById('back');
  button.value = location.pathname + location.search;
  button.click();
});

// Ask for a file and send it to the server, or say why that failed.
function sendFile(address, largest, failed) {
  const asked = document.createElement('input');
  asked.type = 'file';
  asked.onchange = async () => {
    const file = asked.files[0];
    if (file.size > largest) return failed('large', file.name);
    try {
      const headers = {'X-Name': encodeURIComponent(file.name)};
      const answer = await fetch(address, {method: 'POST', body: await file.arrayBuffer(), headers});
      if (!answer.ok) failed('refused', file.name);
    } catch {
      failed('lost', file.name);
    }
  };
  asked.click();
}
