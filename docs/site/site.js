// What the theme leaves out for people who use the keyboard or listen to a page: names of boxes,
// and a stop of the tab key at boxes that scroll sideways.
const mend = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((part, i) => part.setAttribute("aria-label", `Code ${i + 1}`));
  const name = (selector, words) => document.querySelectorAll(selector).forEach((box, i) => {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${words} ${i + 1}`);
  });
  name(".md-typeset__scrollwrap", "Table");
  name(".tabbed-labels", "Choice");
};
document$.subscribe(() => {
  mend();
  // The theme adds boxes and buttons after the page has loaded.
  new MutationObserver(mend).observe(document.body, {childList: true, subtree: true});
});
