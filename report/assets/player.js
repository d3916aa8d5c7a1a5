"use strict";
// trialPlayer steps through one trial in an element of a page. It takes what
// report.Trials encodes, {trial, lake, setting, labels, title, command}, and
// knows nothing else, so that any page can use it.
const trialPlayer = (() => {
  // What models said becomes text, never markup.
  const el = (tag, attrs, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attrs)) if (value !== false && value != null) node.setAttribute(name, value);
    node.append(...children.filter((c) => c != null && c !== ""));
    return node;
  };
  const svg = (tag, attrs, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attrs)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const size = 44, margin = 20;
  const at = ([r, c]) => `(${r},${c})`;
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];
  const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

  const button = (label, sign, action) => {
    const b = el("button", { type: "button", "aria-label": label, title: label }, sign);
    b.addEventListener("click", action);
    return b;
  };
  const said = (title, words, open) => words ? el("details", { class: "said", open: open ? "" : null }, el("summary", {}, title), el("blockquote", { dir: "auto" }, words)) : null;

  // One player in root; its open shows a trial, its focus takes the keyboard.
  return (root) => {
    let data, steps, path, audits, frame, last;
    const stage = el("div", { class: "player", role: "group", tabindex: "0", "aria-label": "Replay. Left and right arrow keys step; Home and End go to the first and last step." });
    const parts = {
      title: el("p", { class: "what" }), now: el("p", { class: "now", "aria-live": "polite" }),
      range: el("input", { type: "range", min: 0, "aria-label": "Step" }),
      scene: el("div", { class: "scene" }), command: el("p", { class: "note" }),
    };
    const buttons = [
      button("First step", "«", () => go(0)), button("Step back", "‹", () => go(frame - 1)),
      button("Step forward", "›", () => go(frame + 1)), button("Last step", "»", () => go(last)),
    ];
    stage.append(parts.title, el("div", { class: "bar" }, ...buttons.slice(0, 2), parts.range, ...buttons.slice(2)), parts.now, parts.scene, parts.command);
    root.replaceChildren(stage);
    parts.range.addEventListener("input", () => go(Number(parts.range.value)));
    stage.addEventListener("keydown", (e) => {
      if (e.altKey || e.ctrlKey || e.metaKey || e.target === parts.range) return;
      const to = { ArrowLeft: frame - 1, ArrowRight: frame + 1, Home: 0, End: last }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      go(to);
    });
    const detects = () => data.setting.task === "detect";

    // gridAt returns the lake as it is at a frame, and the flips that just came.
    const gridAt = (n) => {
      const { lake } = data, rows = (lake.events?.length ? lake.rows : lake.rows_after).map((r) => [...r]);
      let fresh = [];
      const apply = (flips) => { fresh = flips; for (const [r, c, to] of flips) rows[r][c] = to; };
      if (detects()) for (const e of lake.events ?? []) { if (e.step <= (audits[n]?.moves ?? 0)) apply(e.flips); }
      else {
        for (const s of steps.slice(0, n + 1)) apply(s.event ?? []);
        fresh = steps[n]?.event ?? [];
      }
      return { rows, fresh };
    };
    const staleIn = (rows, r, c) => (data.lake.rows[r][c] === "H") !== (rows[r][c] === "H");
    const entry = ({ id, text }) => `[${id}] ${text}`;

    const board = (title, label, paint) => {
      const rows = data.lake.rows.length, cols = data.lake.rows[0].length, every = Math.ceil(Math.max(rows, cols) / 16);
      const drawing = svg("svg", { viewBox: `0 0 ${cols * size + margin + 2} ${rows * size + margin + 2}`, role: "img", "aria-label": label });
      for (let c = 0; c < cols; c += every) drawing.append(svg("text", { x: margin + c * size + size / 2, y: 13, class: "axis" }, String(c)));
      for (let r = 0; r < rows; r += every) drawing.append(svg("text", { x: 9, y: margin + r * size + size / 2 + 4, class: "axis" }, String(r)));
      const box = (r, c, name, inset = 0, more = {}) => svg("rect", { x: margin + c * size + inset, y: margin + r * size + inset, width: size - 2 * inset, height: size - 2 * inset, class: name, ...more });
      const word = (r, c, text) => svg("text", { x: margin + c * size + size / 2, y: margin + r * size + size / 2 + 5 }, text);
      paint(drawing, box, word);
      return el("figure", {}, el("figcaption", {}, title), drawing);
    };
    const agentMark = ([r, c], name) => {
      const x = margin + c * size, y = margin + r * size;
      return svg("path", { class: name, "data-agent": `${r},${c}`, d: `M${x + size / 2} ${y + 9}L${x + size - 10} ${y + size - 10}H${x + 10}Z` });
    };

    const drawLake = ({ rows, fresh }, agent, seen) => board("The lake now. Dashed: changed since the memory was taken; thick: just now.", `The lake now: ${rows.flat().filter((c) => c === "H").length} holes, the agent at ${at(agent)}.`, (drawing, box, word) => {
      rows.forEach((row, r) => row.forEach((cell, c) => {
        drawing.append(box(r, c, `cell ${cell}`, 0, { "data-cell": `${r},${c}`, "data-type": cell }));
        if (cell === "S" || cell === "G") drawing.append(word(r, c, cell));
        if (seen?.length && seen[r][c] !== "1") drawing.append(box(r, c, "unseen"), word(r, c, "?"));
        if (fresh.some((f) => f[0] === r && f[1] === c)) drawing.append(box(r, c, "fresh", 4));
        else if (staleIn(rows, r, c)) drawing.append(box(r, c, "changed", 4));
      }));
      const way = path.slice(0, frame + 1).map(([r, c]) => `${margin + c * size + size / 2},${margin + r * size + size / 2}`);
      if (!detects() && way.length > 1) drawing.append(svg("polyline", { points: way.join(" "), class: "way" }));
      drawing.append(agentMark(agent, "agent"));
    });

    const drawMemory = ({ rows }, agent, removed, unanswered) => {
      if (!data.trial.memory) return el("figure", {}, el("figcaption", {}, "Its memory"), el("p", {}, "None: this agent is given no memory."));
      const lies = data.lake.memory.filter(({ pos: [r, c] }, i) => !removed.has(i) && staleIn(rows, r, c)).length;
      return board("Its memory. Faded: out of its view; framed: no longer true, which it cannot see.", `The memory: ${data.lake.memory.length - removed.size} of ${data.lake.memory.length} entries in view, ${lies} of them stale.`, (drawing, box, word) => {
        data.lake.memory.forEach(({ id, pos: [r, c], claim }, i) => {
          const g = svg("g", { class: `${claim.toLowerCase()}${removed.has(i) ? " gone" : ""}`, "data-entry": id }, box(r, c, "cell"), word(r, c, unanswered.has(i) ? "?" : claim.toLowerCase()));
          drawing.append(g);
          if (staleIn(rows, r, c)) drawing.append(box(r, c, "stale", 4));
        });
        if (!detects()) drawing.append(agentMark(agent, "agent ghost"));
      });
    };

    const auditWords = (index, rows) => {
      const a = audits[index], stale = new Set(a.stale), unanswered = new Set(a.unanswered), skipped = new Set(a.skipped), reasons = data.trial.words?.reasons?.[index] ?? {};
      const count = { found: 0, missed: 0, "flagged wrongly": 0, "no answer": 0 }, list = el("ul", { class: "verdicts" });
      data.lake.memory.forEach((e, i) => {
        if (skipped.has(i)) return;
        const lie = staleIn(rows, ...e.pos), word = unanswered.has(i) ? "no answer" : stale.has(i) ? (lie ? "found" : "flagged wrongly") : lie ? "missed" : "";
        if (!word) return;
        count[word]++;
        list.append(el("li", { class: word.replace(" ", "-") }, el("b", {}, word), " ", entry(e), reasons[i] ? el("q", { dir: "auto" }, reasons[i]) : null));
      });
      const replies = Object.entries(data.trial.words?.replies ?? {}).filter(([slot]) => slot.startsWith(`window${index}/`));
      return el("div", { class: "audit" }, el("p", {}, el("b", {}, "Audit: "), Object.entries(count).map(([word, n]) => `${n} ${word}`).join(", ") + "."), list,
        ...replies.flatMap(([slot, [reply, thought]]) => [said(`Reply ${slot}`, reply, true), said(`Reasoning of ${slot}`, thought)]).filter(Boolean));
    };
    const flips = (title, list) => list.length ? el("p", {}, el("b", {}, title + " "), list.map(([r, c, to]) => `${at([r, c])} ${to === "H" ? "to a hole (thaw)" : "to frozen (freeze)"}`).join(", ")) : null;

    const ending = () => {
      const { trial } = data, steps = plural(path.length - 1, "step");
      return {
        success: `Success: it reached the goal after ${steps}.`,
        death: `Death after ${steps}: it fell into the hole at ${at(path.at(-1))}. ${trial.cause}: ${data.labels.cause[trial.cause] ?? ""}.`,
        timeout: `Timeout: ${steps}, and neither goal nor hole.`,
        error: `The trial failed: ${trial.error}`,
      }[trial.outcome] ?? "";
    };

    // memoryOf says what the memory holds of the cell that a step enters.
    const memoryOf = (rows, removed, to) => {
      const i = data.trial.memory ? data.lake.memory.findIndex((e) => same(e.pos, to)) : -1;
      if (i < 0) return null;
      const says = `${data.lake.memory[i].claim}, which is ${staleIn(rows, ...to) ? "stale" : "true"}`;
      return el("p", {}, el("b", {}, `Of ${at(to)} `), removed.has(i) ? `the audit had removed its entry, ${says}.` : `its memory says ${says}.`);
    };

    const show = () => {
      const { trial } = data, now = gridAt(frame), step = steps[frame], agent = detects() ? [0, 0] : path[frame];
      const audit = detects() ? frame : audits.findIndex((a) => a.moves === frame && step);
      const removed = new Set(detects() ? audits[frame]?.stale : (step ?? steps.at(-1))?.removed);
      const seen = detects() ? audits[frame]?.visible : (step ?? steps.at(-1))?.visible;
      const side = el("div", { class: "side" });
      const tell = (...nodes) => side.append(...nodes.filter(Boolean));
      let headline;
      if (detects()) {
        headline = audits.length === 0 ? "No audit" : `Audit ${frame + 1} of ${last + 1}` + (audits[frame]?.moves ? `, after the change at move ${audits[frame].moves}` : "");
      } else if (step) {
        headline = `Step ${frame + 1} of ${path.length - 1}: at ${at(agent)}, it goes ${step.action}${same(agent, step.next) ? " against the edge" : ` to ${at(step.next)}`}`;
        tell(flips("The lake changes:", now.fresh), flips("Changes dropped, because they would have done harm at once:", step.dropped ?? []));
      } else {
        headline = `The end, at ${at(agent)}`;
      }
      if (audits[audit]) tell(auditWords(audit, now.rows));
      if (step) {
        const [reply, thought] = trial.words?.replies?.[`step${frame + 1}`] ?? [];
        if (step.fallback) tell(el("p", { class: "warning" }, `The reply gave no action (${step.reply ?? ""}), so this step is the fallback’s.`));
        tell(memoryOf(now.rows, removed, step.next), said("What the model said", reply, true), said("What it thought", thought));
      }
      if (frame === last && ending()) tell(el("p", { class: `ending ${trial.outcome}` }, ending()));
      parts.now.textContent = headline;
      parts.range.value = frame;
      parts.range.setAttribute("aria-valuetext", headline);
      const held = document.activeElement;
      buttons[0].disabled = buttons[1].disabled = frame === 0;
      buttons[2].disabled = buttons[3].disabled = frame === last;
      if (held?.disabled) stage.focus({ preventScroll: true }); // or the keys would go nowhere
      parts.scene.replaceChildren(drawLake(now, agent, seen), drawMemory(now, agent, removed, new Set(audits[audit]?.unanswered)), side);
      stage.dataset.frame = frame;
      stage.dispatchEvent(new CustomEvent("frame", { bubbles: true, detail: frame }));
    };
    const go = (n) => {
      const to = Math.max(0, Math.min(last, n));
      if (to !== frame) { frame = to; show(); }
    };

    return {
      open(given) {
        data = given;
        steps = data.trial.steps ?? [];
        path = [[0, 0], ...steps.map((s) => s.next)];
        audits = data.trial.audits ?? [];
        frame = 0;
        last = detects() ? Math.max(0, audits.length - 1) : path.length - 1;
        parts.range.max = last;
        parts.title.textContent = data.title;
        parts.command.replaceChildren("The same on a terminal, and the model’s exact words with --calls and --prompt SLOT: ", el("code", {}, data.command));
        stage.dataset.trial = data.trial.key;
        show();
      },
      go,
      focus() { stage.scrollIntoView({ block: "nearest" }); stage.focus({ preventScroll: true }); },
    };
  };
})();
