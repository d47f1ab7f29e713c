"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  const label = button.textContent;
  button.addEventListener("click", () => {
    window.getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    const done = document.execCommand("copy");
    button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
