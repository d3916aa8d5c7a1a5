"use strict";
(() => {
  // What a link leads to is unfolded.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target?.scrollIntoView();
  };
  const wide = () => {
    for (const box of document.querySelectorAll(".scroll")) box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  };
  addEventListener("resize", wide);
  document.addEventListener("toggle", wide, true);
  document.addEventListener("load", wide, true); // of figures
  addEventListener("beforeprint", () => document.querySelectorAll(".topic, .result").forEach((d) => { d.open = true; }));

  const packed = document.getElementById("trial-data");
  if (!packed) {
    addEventListener("hashchange", reveal);
    reveal();
    return;
  }
  const most = 2000; // options that a list takes without delay
  const list = document.getElementById("list"), filters = document.getElementById("filters"), matching = document.getElementById("matching");
  const shell = (word) => /^[\w/.:@+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const lines = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    const trials = lines.trimEnd().split("\n").map((line) => JSON.parse(line));
    return { ...trials.pop(), trials }; // what they have in common is last
  };

  const start = (doc) => {
    for (const [i, words] of Object.entries(doc.words)) doc.trials[i].words = words;
    const player = trialPlayer(document.getElementById("player"));
    const models = [...new Set(doc.settings.map((s) => s.model))], brief = (name) => name.replace(/\?.*/s, "?…");
    const shortModel = (name) => models.filter((m) => brief(m) === brief(name)).length > 1 ? name : brief(name);
    const named = (key, value) => key === "model" ? shortModel(value) : doc.labels[key]?.[value] ?? String(value);
    const fields = {
      task: (t, s) => s.task, model: (t, s) => s.model, modality: (t, s) => s.modality, regime: (t, s) => s.regime, strategy: (t, s) => s.strategy,
      batch: (t, s) => s.batch, framing: (t, s) => s.framing, size: (t, s) => `${s.rows}×${s.cols}`, run: (t, s) => s.run,
      outcome: (t) => t.outcome, cause: (t) => t.cause ?? "", words: (t) => (t.words ? "yes" : "no"), seed: (t) => doc.lakes[t.lake].seed, episode: (t) => t.episode ?? 0,
    };
    const valueOf = (key, t) => fields[key](t, doc.settings[t.setting]);
    const varies = {}; // of each field its values, where there are several
    for (const key of Object.keys(fields)) {
      const values = [...new Set(doc.trials.map((t) => valueOf(key, t)))];
      if (values.filter((v) => v !== 0 && v !== "").length < 2) continue;
      varies[key] = values;
      const choice = document.createElement("select");
      choice.name = key;
      choice.append(new Option("all", ""), ...values.filter((v) => v !== 0 && v !== "").map((v) => new Option(key === "cause" ? v : named(key, v), v)));
      const label = document.createElement("label");
      label.append(key, choice);
      filters.append(label);
    }
    const words = { seed: (v) => `seed ${v}`, episode: (v) => `episode ${v}`, batch: (v) => `batches of ${v}`, framing: (v) => `framing ${v}` };
    const titleOf = (t) => [...Object.keys(varies).filter((key) => key !== "words").map((key) => {
      const value = valueOf(key, t);
      return value === 0 || value === "" || value === "done" || key === "cause" ? "" : words[key]?.(value) ?? named(key, value);
    }), t.steps ? `${t.steps.length} steps` : "", t.cause ?? ""].filter(Boolean).join(" · ");

    const refill = () => {
      const wanted = [...new FormData(filters)].filter(([, value]) => value !== "");
      const fits = doc.trials.map((t, i) => [t, i]).filter(([t]) => wanted.every(([key, value]) => String(valueOf(key, t)) === value));
      list.replaceChildren(...fits.slice(0, most).map(([t, i]) => new Option(titleOf(t), i)));
      const n = fits.length.toLocaleString("en");
      matching.textContent = fits.length === 0 ? "No trial is like that" : fits.length > most ? `The first ${most.toLocaleString("en")} of ${n} trials; choose a seed to see others` : `${n} trial${fits.length === 1 ? "" : "s"}`;
      if (fits.length) { list.selectedIndex = 0; open(fits[0][1]); }
    };
    const open = (i) => {
      const trial = doc.trials[i], setting = doc.settings[trial.setting];
      player.open({ trial, setting, lake: doc.lakes[trial.lake], labels: doc.labels, title: titleOf(trial), command: `spatialstale trace ${shell(setting.run)} ${trial.key}` });
    };
    filters.addEventListener("change", refill);
    filters.addEventListener("submit", (e) => e.preventDefault());
    list.addEventListener("change", () => open(Number(list.value)));
    list.addEventListener("keydown", (e) => { if (e.key === "Enter" && list.value) { e.preventDefault(); player.focus(); } });

    // #trials?model=… lists the trials behind a row, #trial-KEY opens one.
    const follow = () => {
      const [, query] = /^#trials\?(.*)$/.exec(location.hash) ?? [], [, key] = /^#trial-(.+)$/.exec(location.hash) ?? [];
      if (query !== undefined) {
        filters.reset();
        for (const [name, value] of new URLSearchParams(query)) if (filters.elements[name]) filters.elements[name].value = value;
        refill();
        document.getElementById("replays").scrollIntoView();
        list.focus({ preventScroll: true });
      } else if (key !== undefined) {
        const i = doc.trials.findIndex((t) => key.startsWith(t.key));
        if (i >= 0) { open(i); player.focus(); }
      } else {
        reveal();
      }
    };
    document.getElementById("browser").hidden = false;
    refill();
    // Of all trials a death that took a while shows most; models come before controls.
    const shows = (t) => t.words && t.cause === "stale-shown" && t.steps?.length > 3;
    let telling = doc.trials.findIndex((t) => shows(t) && !doc.settings[t.setting].model.startsWith("ref/"));
    if (telling < 0) telling = doc.trials.findIndex(shows);
    if (telling >= 0) { list.value = telling; open(telling); }
    addEventListener("hashchange", follow);
    if (location.hash) follow();
  };
  unpack(packed.textContent).then(start).catch((e) => {
    const words = document.createElement("p");
    words.className = "warning";
    words.textContent = `The trials cannot be shown here: ${e.message}. spatialstale trace RUN TRIAL shows each on a terminal.`;
    document.getElementById("replays").append(words);
  });
})();
