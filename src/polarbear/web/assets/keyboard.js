// Entries of legends and the copy button, which their libraries leave to the mouse, are used by the keyboard too.
const MOUSE_ONLY = ".legendtoggle, .copy";

function nameOf(element) {
  const entry = element.parentElement.querySelector(".legendtext");
  return entry ? `show or hide ${entry.textContent}` : "copy";
}

function reach() {
  for (const element of document.querySelectorAll(MOUSE_ONLY)) {
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", nameOf(element));
  }
}

new MutationObserver(reach).observe(document, { childList: true, subtree: true });

document.addEventListener("keydown", (event) => {
  if (!["Enter", " "].includes(event.key) || !event.target.matches(MOUSE_ONLY)) return;
  event.preventDefault();
  const mouse = event.target.matches(".legendtoggle") ? ["mousedown", "mouseup"] : ["click"];
  for (const kind of mouse) event.target.dispatchEvent(new MouseEvent(kind, { bubbles: true, view: window }));
});
