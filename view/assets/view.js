
"use strict";
(() => {
  // A part of the page that the server keeps up to date.
  for (const part of document.querySelectorAll("[data-live]")) {
    const source = new EventSource(part.dataset.live);
    let shown;
    source.addEventListener("message", (e) => {
      if (e.data === shown) return;
      const held = [...part.querySelectorAll("details")].map((d) => d.open);
      part.innerHTML = e.data;
      if (shown !== undefined) part.querySelectorAll("details").forEach((d, i) => { if (held[i] !== undefined) d.open = held[i]; });
      shown = e.data;
    });
    addEventListener("pagehide", () => source.close());
  }

  const wide = () => {
    for (const box of document.querySelectorAll(".scroll")) box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  };
  addEventListener("resize", wide);
  wide();
  for (const choice of document.querySelectorAll("#filters select")) choice.addEventListener("change", () => choice.form.requestSubmit());

  // A person who plays walks with the arrow keys.
  const pad = document.querySelector(".pad");
  if (pad) addEventListener("keydown", (e) => {
    const name = { ArrowUp: "UP", ArrowDown: "DOWN", ArrowLeft: "LEFT", ArrowRight: "RIGHT" }[e.key];
    if (!name || e.altKey || e.ctrlKey || e.metaKey || e.target.closest("summary, details")) return;
    e.preventDefault();
    pad.querySelector(`[data-key=${name}]`).click();
  });

  const root = document.getElementById("players");
  if (!root) return;
  const trials = JSON.parse(root.dataset.trials);
  const players = trials.map((data) => {
    const box = document.createElement("div");
    root.append(box);
    const player = trialPlayer(box);
    player.open(data);
    return { player, box, data };
  });
  let following = false; // one moves the others, which then do not move it
  const all = (frame) => {
    if (following) return;
    following = true;
    for (const { player } of players) player.go(frame);
    following = false;
  };
  for (const { box } of players) box.addEventListener("frame", (e) => all(e.detail));
  const from = document.querySelector("#branch [name=at]"); // the step that is shown next
  if (from) root.addEventListener("frame", (e) => { from.value = Math.min(e.detail + 1, Number(from.max)); }, true);
  document.getElementById("parting")?.addEventListener("click", (e) => all(Number(e.target.dataset.frame) - 1));

  // wrong are the frames with an audit that was mistaken.
  const wrong = ({ lake, trial, setting }) => (trial.audits ?? []).flatMap((a, i) => {
    const rows = (lake.events?.length ? lake.rows : lake.rows_after).map((r) => [...r]);
    for (const e of lake.events ?? []) if (e.step <= a.moves) for (const [r, c, to] of e.flips) rows[r][c] = to;
    const flagged = new Set(a.stale), skipped = new Set(a.skipped);
    const mistaken = lake.memory.some(({ pos: [r, c] }, k) => !skipped.has(k) && flagged.has(k) !== ((lake.rows[r][c] === "H") !== (rows[r][c] === "H")));
    return mistaken ? [setting.task === "detect" ? i : a.moves] : [];
  });
  root.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const { data, box } = players.find((p) => p.box.contains(e.target)) ?? players[0];
    const frame = Number(box.querySelector(".player").dataset.frame);
    if (e.key === "d") all((data.trial.steps ?? []).length);
    if (e.key === "n") { const next = wrong(data).find((f) => f > frame); if (next !== undefined) all(next); }
  });
  players[0].player.focus();
})();
