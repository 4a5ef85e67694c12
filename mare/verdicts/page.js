"use strict";
const find = document.getElementById("find");
const picks = [...document.querySelectorAll(".pick")];
const rows = [...document.querySelectorAll("#columns tbody tr")];

function show() {
  const wanted = find.value.toLowerCase();
  const verdicts = new Set(picks.filter((pick) => pick.checked).map((pick) => pick.value));
  for (const row of rows) {
    row.hidden = !verdicts.has(row.dataset.verdict) || !row.cells[1].textContent.toLowerCase().includes(wanted);
  }
}

find.addEventListener("input", show);
find.form.addEventListener("submit", (event) => event.preventDefault());
picks.forEach((pick) => pick.addEventListener("change", show));
