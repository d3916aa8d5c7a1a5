"""Many lakes side by side, for Gymnasium."""

from __future__ import annotations

import base64
import operator
import os
import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .binary import Session, arguments
from .env import LAKES, lake_of, observation_space, seed_of


class SpatialStaleVectorEnv(VectorEnv):
    """``num_envs`` episodes in one program, step by step together.

    Observations, actions and rewards are those of ``SpatialStaleEnv``, stacked.
    An episode that has ended begins anew at the next step, whose action for it
    is not looked at (Gymnasium's ``AutoresetMode.NEXT_STEP``), on a lake drawn
    from ``seeds``.

    With ``copy=False`` the observations' arrays are those that the next step
    writes into.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        regime: str = "L1",
        size: tuple[int, int] = (8, 8),
        *,
        seeds: list[int] | None = None,
        hole_fraction: float = 0.25,
        strict_schedule: bool = False,
        copy: bool = True,
        render_mode: str | None = None,
        binary: str | os.PathLike[str] | None = None,
    ):
        super().__init__()
        if render_mode is not None:
            raise ValueError("many lakes side by side are not rendered; make a single environment for that")
        if num_envs < 1:
            raise ValueError(f"num_envs {num_envs}: at least one is needed")
        self.num_envs, self.render_mode, self._copy = num_envs, None, copy
        if seeds is not None:
            seeds = [lake_of(s) for s in seeds]
        self._session = Session(binary, arguments(regime, size, hole_fraction, strict_schedule))
        hello = self._session.hello
        rows, cols, self._budget = hello["rows"], hello["cols"], hello["budget"]
        self._cells = rows * cols
        self._seeds = np.array(hello["seeds"] if seeds is None else seeds, np.int64)
        if len(self._seeds) == 0:
            self.close()
            raise ValueError("seeds: there must be at least one")
        self.single_observation_space = observation_space(rows, cols, self._budget)
        self.single_action_space = gymnasium.spaces.Discrete(len(hello["actions"]))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._grid = np.zeros((num_envs, rows, cols), np.uint8)
        self._memory = np.zeros((num_envs, rows, cols), np.uint8)
        self._agent = np.zeros(num_envs, np.int64)
        self._left = np.zeros(num_envs, np.int64)
        self._over = np.zeros(num_envs, bool)
        # The generators of the episodes that were given seeds of their own.
        self._own: dict[int, np.random.Generator] = {}
        self._ready = False
        self._copies = _Copies()
        # What each lake begins with, in the order of _known.
        self._known = np.zeros(0, np.int64)
        self._grids = self._memories = np.zeros((0, rows, cols), np.uint8)
        self._order = np.zeros(0, np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins all episodes. A number seeds the generator that draws their
        lakes. A list names each episode's lake and seeds a generator of its own
        for the lakes after it, so that it goes on as a single environment that
        was reset with that seed; with ``None`` in the list, as one that was
        reset without. A reset that is refused changes nothing."""
        if options:
            raise ValueError(f"unknown options {sorted(options)}; there are none")
        before = self._np_random, self._np_random_seed, dict(self._own)
        states = [(g, g.bit_generator.state) for g in (self._np_random, *self._own.values()) if g is not None]
        try:
            chosen = self._choose(seed)
            answer = self._session.ask({"reset_many": {"seeds": chosen.tolist()}})
        except BaseException:
            self._np_random, self._np_random_seed, self._own = before
            for generator, state in states:
                generator.bit_generator.state = state
            raise
        self._over[:] = False
        self._left[:] = self._budget
        self._begin(np.arange(self.num_envs), chosen)
        self._take(answer)
        self._ready = True
        return self._observation(), {"instance_seed": chosen}

    def _choose(self, seed: int | list[int | None] | None) -> np.ndarray:
        """Seeds the generators as reset says, and returns the lakes."""
        everyone = np.arange(self.num_envs)
        if seed is None:
            return self._draw(everyone)
        try:
            operator.index(seed)
        except TypeError:
            pass
        else:
            super().reset(seed=seed_of(seed))
            self._own.clear()
            return self._draw(everyone)
        try:
            given = list(seed)
        except TypeError:
            raise TypeError(f"seed {seed!r}: give an integer, or a list of {self.num_envs}") from None
        if len(given) != self.num_envs:
            raise ValueError(f"{len(given)} seeds for {self.num_envs} environments")
        own = {i: seed_of(s) for i, s in enumerate(given) if s is not None}
        for i, s in own.items():
            self._own[i], _ = seeding.np_random(s)
        chosen = np.zeros(self.num_envs, np.int64)
        drawn = np.array([i for i in everyone if i not in own], np.int64)
        chosen[drawn] = self._draw(drawn)
        for i, s in own.items():
            chosen[i] = s % LAKES
        return chosen

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Makes a move in every episode that goes on, and begins the others."""
        if not self._ready:
            raise gymnasium.error.ResetNeeded("step before reset")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions of shape {actions.shape} and type {actions.dtype}: want {self.num_envs} integers")
        actions = np.where(self._over, 0, actions)  # those of episodes that begin anew are not looked at
        if actions.min() < 0 or actions.max() > 3:
            raise ValueError("actions: there are 0 LEFT, 1 DOWN, 2 RIGHT, 3 UP")
        anew = np.flatnonzero(self._over)
        lakes = self._draw(anew)
        answer = self._session.ask(
            {
                "step_many": {
                    "actions": base64.b64encode(actions.astype(np.uint8).tobytes()).decode(),
                    "reset": base64.b64encode(anew.astype("<u4").tobytes()).decode(),
                    "seeds": base64.b64encode(lakes.astype("<u8").tobytes()).decode(),
                }
            }
        )
        self._left -= 1
        self._left[anew] = self._budget
        self._begin(anew, lakes)
        ended = self._take(answer)
        reward = np.frombuffer(base64.b64decode(answer["reward"]), np.int8).astype(np.float64)
        terminated, truncated = ended == 1, ended == 2
        self._over = ended != 0
        info: dict[str, Any] = {}
        if len(anew):
            seeds, which = np.zeros(self.num_envs, np.int64), np.zeros(self.num_envs, bool)
            seeds[anew], which[anew] = lakes, True
            info = {"instance_seed": seeds, "_instance_seed": which}
        return self._observation(), reward, terminated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the program behind the environments."""
        self._session.close()

    def _draw(self, episodes: np.ndarray) -> np.ndarray:
        """Draws lakes, each from the generator of its episode."""
        n = len(self._seeds)
        if not self._own:
            return self._seeds[self.np_random.integers(n, size=len(episodes))]
        draws = [self._own.get(int(i), self.np_random).integers(n) for i in episodes]
        return self._seeds[np.array(draws, np.int64)]

    def _begin(self, anew: np.ndarray, lakes: np.ndarray) -> None:
        """Shows the lakes of episodes that begin. What a lake begins with is
        asked for once."""
        if len(anew) == 0:
            return
        at = self._find(lakes)
        self._grid[anew] = self._grids[at]
        self._memory[anew] = self._memories[at]

    def _find(self, lakes: np.ndarray) -> np.ndarray:
        """Where lakes stand among those that are known."""
        if len(self._known):
            at = np.searchsorted(self._known, lakes, sorter=self._order)
            at = self._order[np.minimum(at, len(self._known) - 1)]
            if (self._known[at] == lakes).all():
                return at
        unknown = np.setdiff1d(lakes, self._known)
        answer = self._session.ask({"places": {"seeds": unknown.tolist()}})
        shape = (len(unknown), *self._grid.shape[1:])
        self._known = np.concatenate([self._known, unknown])
        self._order = np.argsort(self._known)
        grids, memories = (np.frombuffer(base64.b64decode(answer[k]), np.uint8) for k in ("grid", "memory"))
        self._grids = np.concatenate([self._grids, grids.reshape(shape)])
        self._memories = np.concatenate([self._memories, memories.reshape(shape)])
        return self._find(lakes)

    def _take(self, answer: dict[str, Any]) -> np.ndarray:
        """Takes over what the program says of the lakes, and returns how the
        episodes stand: 0 goes on, 1 terminated, 2 truncated."""
        self._agent[:] = np.frombuffer(base64.b64decode(answer["agent"]), "<u2")
        if answer["flips"]:
            flips = np.frombuffer(base64.b64decode(answer["flips"]), "<u4").reshape(-1, 3)
            self._grid.reshape(self.num_envs, -1)[flips[:, 0], flips[:, 1]] = flips[:, 2]
        return np.frombuffer(base64.b64decode(answer["ended"]), np.uint8)

    def _observation(self) -> dict[str, Any]:
        arrays = {"grid": self._grid, "memory": self._memory, "agent": self._agent, "steps_left": self._left}
        # The order of the space's keys, which Gymnasium sorts.
        return {k: self._copies.of(k, arrays[k]) if self._copy else arrays[k] for k in self.single_observation_space}


class _Copies:
    """Copies of arrays, in memory of earlier copies that nobody holds any more.

    New memory for every observation costs as much as the steps themselves,
    since the system hands it out page by page. A copy is taken again only when
    its count of references says that it is ours alone; a view of it counts.
    """

    KEPT = 4

    def __init__(self) -> None:
        self._kept: dict[str, list[np.ndarray]] = {}
        self._alone = self._references([np.zeros(0)])

    @staticmethod
    def _references(kept: list[np.ndarray]) -> int:
        for array in kept:
            return sys.getrefcount(array)
        return 0

    def of(self, name: str, source: np.ndarray) -> np.ndarray:
        kept = self._kept.setdefault(name, [])
        for array in kept:
            if sys.getrefcount(array) <= self._alone and array.shape == source.shape:
                np.copyto(array, source)
                return array
        array = source.copy()
        if len(kept) < self.KEPT:
            kept.append(array)
        return array
