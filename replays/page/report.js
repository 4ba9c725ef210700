"use strict";
(() => {
  const words = document.getElementById("words");
  const category = document.getElementById("category");
  const verdict = document.getElementById("verdict");
  const count = document.getElementById("count");
  const probes = [...document.querySelectorAll("details.probe")];
  const apply = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const probe of probes) {
      const fits =
        (!category.value || probe.dataset.category === category.value) &&
        (!verdict.value || probe.dataset.verdict.split(" ").includes(verdict.value)) &&
        (!wanted || probe.textContent.toLowerCase().includes(wanted));
      probe.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${probes.length}`;
  };
  for (const control of [words, category, verdict]) control.addEventListener("input", apply);
  apply();
})();
