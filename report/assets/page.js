"use strict";
(() => {
  // What models said is put on the page as text, never as markup.
  const el = (tag, attrs = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attrs)) if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
    node.append(...children.filter((c) => c != null && c !== ""));
    return node;
  };
  const svg = (tag, attrs = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attrs)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const data = (id) => {
    const block = document.getElementById(id);
    return block && block.tagName === "SCRIPT" ? JSON.parse(block.textContent) : null;
  };
  const at = (p) => `(${p[0]},${p[1]})`;
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];

  // A list of trials opens when a link leads to it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target && target.tagName !== "SCRIPT" && target.closest("details")) target.closest("details").scrollIntoView();
  };

  // On a small screen the contents would stand before everything.
  const contents = document.querySelector(".contents details");
  if (contents && !matchMedia("(min-width: 72rem)").matches) contents.open = false;

  const player = document.getElementById("player");
  if (!player) {
    addEventListener("hashchange", reveal);
    reveal();
    return;
  }
  const which = document.getElementById("which");
  const stage = document.getElementById("stage");
  const size = 44, margin = 20;
  let replay = null, lake = null, frame = 0, marks = true, parts = {};

  const frames = () => (replay.task === "detect" ? Math.max(1, replay.windows?.length ?? 0) : (replay.steps?.length ?? 0) + 1);
  const steps = () => replay.steps ?? [];
  const windows = () => replay.windows ?? [];

  // gridAt returns the lake as it is at a frame, and the flips that just came.
  const gridAt = (n) => {
    const live = lake.events?.length > 0;
    const rows = (live ? lake.rows : lake.after).map((r) => [...r]);
    let fresh = [];
    const apply = (flips) => { for (const [r, c, to] of flips) rows[r][c] = to; };
    if (replay.task === "detect") {
      const moves = windows()[n]?.moves ?? 0;
      for (const e of lake.events ?? []) if (e.step <= moves) { apply(e.flips); fresh = e.step === moves ? e.flips : fresh; }
    } else {
      steps().slice(0, n + 1).forEach((s, i) => { apply(s.event ?? []); if (i === n) fresh = s.event ?? []; });
    }
    return { rows, fresh };
  };
  const hole = (cell) => cell === "H";
  const staleIn = (rows, r, c) => hole(lake.rows[r][c]) !== hole(rows[r][c]);

  const agentAt = (n) => {
    if (replay.task === "detect") return [0, 0];
    const list = steps();
    if (list.length === 0) return [0, 0];
    return n < list.length ? list[n].from : list[list.length - 1].to;
  };

  const board = (title, paint) => {
    const rows = lake.rows.length, cols = lake.rows[0].length;
    const w = cols * size + margin, h = rows * size + margin;
    const drawing = svg("svg", { viewBox: `0 0 ${w + 2} ${h + 2}`, role: "img", class: "board" });
    const every = Math.ceil(Math.max(rows, cols) / 16);
    for (let c = 0; c < cols; c += every) drawing.append(svg("text", { x: margin + c * size + size / 2, y: 13, class: "axis" }, String(c)));
    for (let r = 0; r < rows; r += every) drawing.append(svg("text", { x: 9, y: margin + r * size + size / 2 + 4, class: "axis" }, String(r)));
    paint(drawing, (r, c) => ({ x: margin + c * size, y: margin + r * size }));
    return el("figure", {}, el("figcaption", {}, title), drawing);
  };

  const triangle = (x, y, name) => svg("path", { class: name, d: `M${x + size / 2} ${y + 9}L${x + size - 10} ${y + size - 10}H${x + 10}Z` });

  const agentMark = (drawing, place, p, name = "agent") => {
    const { x, y } = place(p[0], p[1]);
    const mark = triangle(x, y, name);
    mark.setAttribute("data-agent", `${p[0]},${p[1]}`);
    drawing.append(mark);
  };

  const drawLake = (now, agent, seen) => board("The lake as it is now", (drawing, place) => {
    let holes = 0;
    now.rows.forEach((row, r) => row.forEach((cell, c) => {
      const { x, y } = place(r, c);
      drawing.append(svg("rect", { x, y, width: size, height: size, class: `cell c-${cell}`, "data-cell": `${r},${c}`, "data-type": cell }));
      if (cell === "S" || cell === "G") drawing.append(svg("text", { x: x + size / 2, y: y + size / 2 + 5, class: "letter" }, cell));
      if (hole(cell)) holes++;
      if (seen && seen[r][c] !== "1") {
        drawing.append(svg("rect", { x, y, width: size, height: size, class: "unseen" }), svg("text", { x: x + size / 2, y: y + size / 2 + 5, class: "letter" }, "?"));
      }
      if (staleIn(now.rows, r, c)) drawing.append(svg("rect", { x: x + 3, y: y + 3, width: size - 6, height: size - 6, class: "changed" }));
      if (now.fresh.some((f) => f[0] === r && f[1] === c)) drawing.append(svg("rect", { x: x + 3, y: y + 3, width: size - 6, height: size - 6, class: "fresh" }));
    }));
    const way = steps().slice(0, frame).map((s) => s.from).concat(steps().length ? [agent] : []);
    if (way.length > 1) {
      const points = way.map((p) => { const { x, y } = place(p[0], p[1]); return `${x + size / 2},${y + size / 2}`; }).join(" ");
      drawing.append(svg("polyline", { points, class: "way" }));
    }
    const step = steps()[frame];
    if (step && !same(step.from, step.to)) arrow(drawing, place, step);
    agentMark(drawing, place, agent);
    drawing.setAttribute("aria-label", `The lake now: ${now.rows.length} by ${now.rows[0].length} cells, ${holes} holes, the agent at ${at(agent)}.`);
  });

  const arrow = (drawing, place, step) => {
    const a = place(step.from[0], step.from[1]), b = place(step.to[0], step.to[1]);
    const dx = Math.sign(b.x - a.x), dy = Math.sign(b.y - a.y);
    const x = a.x + size / 2 + dx * size, y = a.y + size / 2 + dy * size;
    drawing.append(svg("path", { class: "move", d: `M${x - dx * size * 0.62} ${y - dy * size * 0.62}L${x - dx * 8} ${y - dy * 8}M${x - dx * 16 - dy * 7} ${y - dy * 16 - dx * 7}L${x - dx * 8} ${y - dy * 8}L${x - dx * 16 + dy * 7} ${y - dy * 16 + dx * 7}` }));
  };

  const drawMemory = (now, agent, removed, verdicts) => {
    const title = verdicts ? "Its memory, and what the audit says" : "The memory it is shown";
    return board(title, (drawing, place) => {
      let shown = 0, lies = 0;
      lake.entries.forEach(([r, c, , id, safe], i) => {
        const { x, y } = place(r, c);
        const gone = removed.has(i), stale = staleIn(now.rows, r, c);
        if (!gone) { shown++; if (stale) lies++; }
        const g = svg("g", { "data-entry": id, class: `entry ${safe ? "safe" : "danger"}${gone ? " gone" : ""}` });
        g.append(svg("rect", { x, y, width: size, height: size, class: "cell" }));
        g.append(svg("text", { x: x + size / 2, y: y + size / 2 + 4, class: "claim" }, safe ? "safe" : "danger"));
        if (gone) g.append(svg("path", { class: "strike", d: `M${x + 6} ${y + size / 2}H${x + size - 6}` }));
        if (verdicts && verdicts[i] === "u") g.append(svg("text", { x: x + size - 8, y: y + 13, class: "badge" }, "?"));
        if (marks && stale) g.append(svg("rect", { x: x + 3, y: y + 3, width: size - 6, height: size - 6, class: gone ? "stale caught" : "stale" }));
        drawing.append(g);
      });
      if (replay.task !== "detect") agentMark(drawing, place, agent, "agent ghost");
      drawing.setAttribute("aria-label", `The memory: ${shown} of ${lake.entries.length} entries in view, ${lies} of them stale.`);
    });
  };

  const text = (i) => { const [r, c, t, id] = lake.entries[i]; return `[${id}] ${lake.texts[t].replace("@", at([r, c]))}`; };

  // said is a block of a model's words.
  const said = (title, words, open = true) => words ? el("details", { class: "said", open }, el("summary", {}, title), el("blockquote", { dir: "auto" }, words)) : null;

  const auditOf = (w, now) => {
    const list = el("ul", { class: "verdicts" });
    [...w.verdicts].forEach((v, i) => {
      const [r, c] = lake.entries[i], stale = staleIn(now.rows, r, c);
      const word = v === "u" ? "no answer" : v === "s" ? (stale ? "found" : "flagged wrongly") : v === "v" && stale ? "missed" : "";
      if (!word) return;
      const reason = w.reasons?.[i];
      list.append(el("li", { class: word.replace(" ", "-") }, el("b", {}, word), " ", text(i), reason ? el("q", { dir: "auto" }, reason) : null));
    });
    const words = (w.words ?? []).flatMap((a) => [said(`Call ${a.slot}: ${a.outcome}`, a.reply), said(`Call ${a.slot}: its reasoning`, a.thought, false)]);
    return el("div", { class: "audit" }, el("p", {}, el("b", {}, "Audit: "), `${w.summary}.`), list, ...words.filter(Boolean));
  };

  const flipWords = (flips, verb) => flips.map(([r, c, to]) => el("li", {}, `${at([r, c])} ${verb} ${to === "H" ? "a hole (thaw)" : "frozen (freeze)"}`));

  const tell = (now, agent) => {
    const side = [], last = frames() - 1;
    let headline;
    if (replay.task === "detect") {
      const w = windows()[frame];
      headline = frames() > 1 ? `Audit ${frame + 1} of ${frames()}` + (w ? `, after the change at move ${w.moves}` : "") : "The audit";
      if (w) side.push(auditOf(w, now));
      if (frame === last) side.push(el("p", { class: "ending" }, replay.ending));
      return { headline, side };
    }
    const s = steps()[frame];
    headline = s ? `Step ${frame + 1} of ${steps().length}: at ${at(s.from)}, it goes ${s.action}` + (same(s.from, s.to) ? " against the edge" : ` to ${at(s.to)}`) : `The end, at ${at(agent)}`;
    if (s?.event?.length) side.push(el("div", { class: "change" }, el("p", {}, el("b", {}, "The lake changes")), el("ul", {}, ...flipWords(s.event, "becomes"))));
    if (s?.dropped?.length) side.push(el("div", { class: "change" }, el("p", {}, el("b", {}, "Changes that were due and dropped"), ", because they would have done harm at once"), el("ul", {}, ...flipWords(s.dropped, "would have become"))));
    for (const w of windows()) if (w.moves === frame && s) side.push(auditOf(w, now));
    if (s) {
      if (s.entry) side.push(el("p", {}, el("b", {}, `Of ${at(s.to)} `), s.entry + "."));
      if (s.note) side.push(el("p", { class: "warning" }, s.note));
      side.push(said("What the model said", s.reply), said("What it thought", s.thought, false));
    } else {
      side.push(el("p", { class: `ending o-${replay.outcome}` }, replay.ending));
    }
    return { headline, side: side.filter(Boolean) };
  };

  const show = () => {
    const now = gridAt(frame), agent = agentAt(frame), list = steps();
    const step = list[Math.min(frame, list.length - 1)], w = replay.task === "detect" ? windows()[frame] : null;
    const removed = new Set(w ? [...w.verdicts].flatMap((v, i) => (v === "s" ? [i] : [])) : step?.removed ?? []);
    const { headline, side } = tell(now, agent);
    parts.now.textContent = headline;
    parts.range.value = frame;
    parts.range.setAttribute("aria-valuetext", headline);
    const held = document.activeElement;
    parts.back.disabled = parts.first.disabled = frame === 0;
    parts.next.disabled = parts.end.disabled = frame === frames() - 1;
    if (held?.disabled) stage.focus({ preventScroll: true }); // or the keys would go nowhere
    const memory = replay.memory
      ? drawMemory(now, agent, removed, w?.verdicts)
      : el("figure", { class: "none" }, el("figcaption", {}, "The memory it is shown"), el("p", {}, "None: this agent is given no memory."));
    parts.boards.replaceChildren(drawLake(now, agent, (w ?? step)?.visible), memory);
    parts.side.replaceChildren(...side);
    stage.dataset.frame = frame;
  };

  const go = (n) => {
    const to = Math.max(0, Math.min(frames() - 1, n));
    if (to !== frame) { frame = to; show(); }
  };

  const button = (label, sign, action) => {
    const b = el("button", { type: "button", "aria-label": label, title: label }, sign);
    b.addEventListener("click", action);
    return b;
  };

  const key = (swatch, words) => el("li", {}, el("i", { class: swatch }), words);

  const open = (trial) => {
    const found = data("replay-" + trial);
    if (!found) return false;
    replay = found;
    lake = data(replay.lake);
    frame = 0;
    parts = {
      now: el("p", { id: "now", class: "now", "aria-live": "polite" }),
      range: el("input", { type: "range", min: 0, max: frames() - 1, value: 0, "aria-label": "Step" }),
      first: button("First step", "«", () => go(0)),
      back: button("Step back", "‹", () => go(frame - 1)),
      next: button("Step forward", "›", () => go(frame + 1)),
      end: button("Last step", "»", () => go(frames() - 1)),
      boards: el("div", { class: "boards" }),
      side: el("div", { class: "side" }),
      marks: el("input", { type: "checkbox", id: "marks" }),
    };
    parts.range.addEventListener("input", () => go(Number(parts.range.value)));
    parts.marks.checked = marks;
    parts.marks.addEventListener("change", () => { marks = parts.marks.checked; show(); });
    const option = [...which.options].find((o) => o.value === trial);
    which.value = option ? trial : "";
    stage.replaceChildren(
      el("p", { class: "what" }, el("b", {}, replay.title), el("span", {}, option ? ` · ${option.parentElement.label}` : ""), el("code", {}, `spatialstale trace RUN ${replay.key}`)),
      el("div", { class: "controls-row" }, parts.first, parts.back, parts.range, parts.next, parts.end),
      parts.now,
      el("div", { class: "scene" }, parts.boards, parts.side),
      el("ul", { class: "keys" },
        key("k-safe", "safe"), key("k-hole", "hole, or danger"), key("k-changed", "changed since the memory was taken"), key("k-fresh", "changed just now"),
        replay.memory ? key("k-gone", "entry taken out of its view") : null, replay.memory ? key("k-stale", "entry that no longer holds") : null),
      replay.memory ? el("label", { class: "toggle" }, parts.marks, " Mark what is truly stale, which the agent cannot see") : "",
    );
    show();
    return true;
  };

  const fromHash = (scroll) => {
    const match = /^#replay-(.+)$/.exec(location.hash);
    if (!match) { reveal(); return false; }
    if (!open(decodeURIComponent(match[1]))) return false;
    if (scroll) { player.scrollIntoView(); stage.focus({ preventScroll: true }); }
    return true;
  };

  stage.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.target === parts.range || e.target.tagName === "SELECT") return;
    const moves = { ArrowLeft: () => go(frame - 1), ArrowRight: () => go(frame + 1), Home: () => go(0), End: () => go(frames() - 1) };
    if (!moves[e.key]) return;
    e.preventDefault();
    moves[e.key]();
  });
  which.addEventListener("change", () => {
    history.replaceState(null, "", "#replay-" + encodeURIComponent(which.value));
    open(which.value);
  });
  addEventListener("hashchange", () => fromHash(true));
  player.hidden = false;
  if (!fromHash(true)) open(player.dataset.first);
})();
