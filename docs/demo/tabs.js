// Which part of the page is shown is the address's business; this only says so to those who hear the page.
function mark() {
  document.querySelectorAll("nav a").forEach((link, at) => {
    if (location.hash ? link.hash === location.hash : at === 0) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}
addEventListener("hashchange", mark);
mark();
