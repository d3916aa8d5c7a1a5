"""One lake that changes under a memory that does not, for Gymnasium."""

from __future__ import annotations

import base64
import operator
import os
import zlib
from typing import Any

import gymnasium
import numpy as np

from .binary import Session, arguments

CELLS = {"S": 0, "F": 1, "H": 2, "G": 3}

#: Lakes have seeds below this. Gymnasium allows larger ones.
LAKES = 2**63


def seed_of(value: Any) -> int:
    """A seed as an integer; refuses what only resembles one."""
    try:
        seed = operator.index(value)
    except TypeError:
        raise TypeError(f"seed {value!r}: it must be an integer") from None
    if seed < 0:
        raise ValueError(f"seed {seed}: it must not be negative")
    return seed


def lake_of(value: Any) -> int:
    """The seed of a lake that is named outright."""
    seed = seed_of(value)
    if seed >= LAKES:
        raise ValueError(f"seed {seed}: lakes have seeds below 2**63")
    return seed


def observation_space(rows: int, cols: int, budget: int) -> gymnasium.spaces.Dict:
    """What an agent sees: the lake as it is now (0 start, 1 frozen, 2 hole, 3
    goal), what it remembers of it (1 for DANGER), where it stands
    (``row * cols + col``) and how many steps are left."""
    return gymnasium.spaces.Dict(
        {
            "grid": gymnasium.spaces.Box(0, 3, (rows, cols), np.uint8),
            "memory": gymnasium.spaces.Box(0, 1, (rows, cols), np.uint8),
            "agent": gymnasium.spaces.Discrete(rows * cols),
            "steps_left": gymnasium.spaces.Discrete(budget + 1),
        }
    )


class SpatialStaleEnv(gymnasium.Env):
    """An episode of the benchmark's navigation task.

    Actions are FrozenLake's: 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP; a move off the grid
    stays and costs a step. Reward: 1 at the goal, -1 in a hole, both ends of the
    episode (``terminated``); 0 when the step budget is used up (``truncated``)
    and everywhere else.

    Parameters
    ----------
    regime: "L1" (single cells change before the episode), "L2" (clusters change
        before it) or "L3" (cells change during it).
    size: rows and columns, 4 to 64 each.
    seeds: the lakes that ``reset()`` without a seed draws from; the benchmark's
        50 unless given.
    truth: puts the ids of the entries that do not hold into ``info["stale"]``.
        An agent under test must not see them.
    binary: the spatialstale program; else ``SPATIALSTALE_BIN``, else the PATH.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        regime: str = "L1",
        size: tuple[int, int] = (8, 8),
        *,
        seeds: list[int] | None = None,
        hole_fraction: float = 0.25,
        strict_schedule: bool = False,
        truth: bool = False,
        render_mode: str | None = None,
        binary: str | os.PathLike[str] | None = None,
    ):
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render mode {render_mode!r}: there are {self.metadata['render_modes']}")
        self.render_mode = render_mode
        self._truth = truth
        if seeds is not None:
            seeds = [lake_of(s) for s in seeds]
        self._session = Session(binary, arguments(regime, size, hole_fraction, strict_schedule))
        hello = self._session.hello
        self._seeds = list(hello["seeds"] if seeds is None else seeds)
        if not self._seeds:
            self.close()
            raise ValueError("seeds: there must be at least one")
        self._rows, self._cols, self._budget = hello["rows"], hello["cols"], hello["budget"]
        self._regime = hello["regime"]
        self.observation_space = observation_space(self._rows, self._cols, self._budget)
        self.action_space = gymnasium.spaces.Discrete(len(hello["actions"]))
        self._memory: np.ndarray | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins an episode.

        With ``seed`` it is played on that seed's lake (of a seed of 2**63 or
        more, on that of its remainder by 2**63), and the generator that later
        draws lakes is seeded with it. Without, the lake is drawn from
        ``seeds``. ``options={"instance_seed": N}`` names the lake and leaves the
        generator alone. A reset that is refused changes nothing.
        """
        options = dict(options or {})
        named = options.pop("instance_seed", None)
        if options:
            raise ValueError(f"unknown options {sorted(options)}; there is instance_seed")
        if seed is not None:
            seed = seed_of(seed)
        if named is not None:
            named = lake_of(named)
        before = self._np_random, self._np_random_seed
        state = None if self._np_random is None else self._np_random.bit_generator.state
        try:
            super().reset(seed=seed)
            if named is not None:
                lake = named
            elif seed is not None:
                lake = seed % LAKES
            else:
                lake = self._seeds[int(self.np_random.integers(len(self._seeds)))]
            answer = self._session.ask({"reset": {"seed": lake}})
        except BaseException:
            self._np_random, self._np_random_seed = before
            if state is not None:
                self._np_random.bit_generator.state = state
            raise
        self._memory = np.zeros((self._rows, self._cols), np.uint8)
        for entry in answer["memory"]:
            self._memory[tuple(entry["pos"])] = entry["claim"] == "DANGER"
        info = self._info(answer)
        info["instance_seed"] = lake
        info["memory"] = [f"[{entry['id']}] {entry['text']}" for entry in answer["memory"]]
        return self._observation(answer), info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Makes a move. L3's changes that come after it are in the observation
        that it returns."""
        if self._memory is None:
            raise gymnasium.error.ResetNeeded("step before reset")
        action = operator.index(action)
        if not self.action_space.contains(action):
            raise ValueError(f"action {action}: there are 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP")
        answer = self._session.ask({"step": {"action": action}})
        return (
            self._observation(answer),
            float(answer["reward"]),
            answer["terminated"],
            answer["truncated"],
            self._info(answer),
        )

    def render(self) -> str | np.ndarray | None:
        """The lake as it is now: the listing that a model would read for
        "ansi", the picture that it would see, 48 pixels a cell, for
        "rgb_array"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode shows nothing; give one to make()")
            return None
        if self._memory is None:
            raise gymnasium.error.ResetNeeded("render before reset")
        if self.render_mode == "ansi":
            return self._session.ask({"render": {"mode": "text"}})["text"]
        picture = self._session.ask({"render": {"mode": "rgb"}})
        pixels = zlib.decompress(base64.b64decode(picture["rgb_zlib"]))
        return np.frombuffer(pixels, np.uint8).reshape(picture["height"], picture["width"], 3).copy()

    def close(self) -> None:
        """Ends the program behind the environment."""
        self._session.close()

    def _observation(self, answer: dict[str, Any]) -> dict[str, Any]:
        row, col = answer["agent"]
        grid = [[CELLS[cell] for cell in line] for line in answer["grid"]]
        return {
            "grid": np.array(grid, np.uint8),
            "memory": self._memory.copy(),
            "agent": row * self._cols + col,
            "steps_left": self._budget - answer["moves"],
        }

    def _info(self, answer: dict[str, Any]) -> dict[str, Any]:
        info = {name: answer[name] for name in ("text", "event", "dropped", "cell", "outcome")}
        info["regime"] = self._regime
        if self._truth:
            info["stale"] = answer["stale"]
        return info
