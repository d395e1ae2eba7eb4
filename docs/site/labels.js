// Every block of code has a button to copy it; for a screen reader the buttons are in places with names of their own.
const label = () =>
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((place) => {
    place.setAttribute("aria-label", `Copy ${place.closest("pre").id.replace(/\D+/, "block ")}`);
  });
new MutationObserver(label).observe(document.documentElement, { childList: true, subtree: true });
