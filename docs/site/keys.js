// What the theme makes on the page, for those who use a keyboard or a screen reader: each button that copies code is in
// a place with a name of its own, and tables wider than the screen can be scrolled with keys.
const complete = () => {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((place) => {
    place.setAttribute("aria-label", `Copy ${place.closest("pre").id.replace(/\D+/, "block ")}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((place) => {
    place.tabIndex = 0;
  });
};
new MutationObserver(complete).observe(document.documentElement, { childList: true, subtree: true });
