"""The environments, against Gymnasium's own checks and against the episodes of
the program's own runs."""

import gc
import json
import os
import subprocess
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import spatialstale
from spatialstale.env import CELLS, SpatialStaleEnv
from spatialstale.vector import SpatialStaleVectorEnv

REGIMES = ["L1", "L2", "L3"]
ACTIONS = {"LEFT": 0, "DOWN": 1, "RIGHT": 2, "UP": 3}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of an agent that walks at random, as lines."""
    folder = tmp_path_factory.mktemp("run")
    binary = spatialstale.find_binary()
    flags = ["--model", "ref/random", "--task", "navigate", "--strategy", "no-memory", "--modality", "text", "--seeds", "12"]
    subprocess.run([binary, "run", "quick", *flags, "--out", folder / "run"], check=True, capture_output=True)
    subprocess.run([binary, "export", folder / "run", "--out", folder / "lines"], check=True, capture_output=True)

    def lines(name):
        return [json.loads(line) for line in open(folder / "lines" / f"{name}.jsonl", encoding="utf-8")]

    return {name: lines(name) for name in ("instances", "trials", "steps")}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_gymnasium_check(regime, render_mode):
    env = gymnasium.make(f"SpatialStale-{regime}-v0", render_mode=render_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("regime", REGIMES)
def test_episodes_are_the_programs(run, regime):
    """Played with the actions of a run, an episode is that run's, step by step."""
    steps = {}
    for step in run["steps"]:
        steps.setdefault(step["trial"], []).append(step)
    lakes = {i["seed"]: i for i in run["instances"] if i["regime"] == regime}
    episodes = [t for t in run["trials"] if t["regime"] == regime]
    assert episodes and {t["outcome"] for t in episodes} >= {"death"}
    env = SpatialStaleEnv(regime)
    for trial in episodes:
        observation, info = env.reset(seed=trial["seed"])
        lake = lakes[trial["seed"]]
        now = [list(row) for row in (lake["rows"] if regime == "L3" else lake["rows_after"])]
        assert info["memory"] == [f"[{m['id']}] {m['text']}" for m in lake["memory"]]
        assert observation["memory"].ravel().tolist() == [int(m["claim"] == "DANGER") for m in lake["memory"]]
        terminated = truncated = False
        for t, step in enumerate(steps[trial["trial"]]):
            assert not (terminated or truncated)
            for row, col, cell in info["event"]:
                now[row][col] = cell
            for name in ("event", "dropped"):
                assert " ".join(f"({row},{col})={cell}" for row, col, cell in info[name]) == step[name]
            assert observation["grid"].tolist() == [[CELLS[c] for c in row] for row in now]
            assert divmod(observation["agent"], 8) == tuple(step["pos"])
            assert observation["steps_left"] == 50 - t
            observation, reward, terminated, truncated, info = env.step(ACTIONS[step["action"]])
            assert divmod(observation["agent"], 8) == tuple(step["next"]) and info["cell"] == step["cell"]
        assert (terminated, truncated) == (trial["outcome"] != "timeout", trial["outcome"] == "timeout")
        assert reward == trial["reward"] and info["outcome"] == trial["outcome"]
    env.close()


def test_reset():
    env = SpatialStaleEnv("L1")
    first, info = env.reset(seed=1734)
    assert info["instance_seed"] == 1734
    drawn = [env.reset()[1]["instance_seed"] for _ in range(20)]
    assert len(set(drawn)) > 5
    env.reset(seed=1734)
    assert [env.reset()[1]["instance_seed"] for _ in range(20)] == drawn
    _, info = env.reset(options={"instance_seed": 4810})
    assert info["instance_seed"] == 4810
    again, _ = env.reset(seed=1734)
    assert all(np.array_equal(first[k], again[k]) for k in first)
    with pytest.raises(ValueError, match="instance_seed"):
        env.reset(options={"seed": 1})
    env.close()
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.reset()


def test_truth_is_asked_for():
    env = SpatialStaleEnv("L2", truth=True)
    observation, info = env.reset(seed=1734)
    hole = observation["grid"].ravel() == CELLS["H"]
    wrong = np.flatnonzero(hole != (observation["memory"].ravel() == 1))
    assert info["stale"] == [f"mem_{i:03d}" for i in wrong] and 7 <= len(wrong) <= 11
    env.close()
    env = SpatialStaleEnv("L2")
    assert "stale" not in env.reset(seed=1734)[1]
    env.close()


def test_rendering():
    env = SpatialStaleEnv("L1", render_mode="ansi")
    _, info = env.reset(seed=1734)
    assert env.render() == info["text"] and "Agent at (0,0). Goal at (7,7)." in env.render()
    env.close()
    env = SpatialStaleEnv("L1", (4, 6), render_mode="rgb_array")
    observation, _ = env.reset(seed=3)
    picture = env.render()
    assert picture.shape == (4 * 48, 6 * 48, 3) and picture.dtype == np.uint8
    colours = {0: (0x2E, 0x8B, 0x57), 1: (0xA8, 0xC8, 0xE8), 2: (0x20, 0x20, 0x20), 3: (0xDA, 0xA5, 0x20)}
    for row in range(4):
        for col in range(6):
            assert tuple(picture[row * 48 + 44, col * 48 + 44]) == colours[observation["grid"][row, col]]
    env.close()


def test_mistakes():
    with pytest.raises(RuntimeError, match="unknown regime"):
        SpatialStaleEnv("L4")
    with pytest.raises(RuntimeError, match="4 to 64"):
        SpatialStaleEnv("L1", (3, 8))
    with pytest.raises(ValueError, match="render mode"):
        SpatialStaleEnv("L1", render_mode="human")
    with pytest.raises(spatialstale.BinaryNotFound, match="no program"):
        SpatialStaleEnv("L1", binary="/nowhere/spatialstale")
    env = SpatialStaleEnv("L1")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action 4"):
        env.step(4)
    for none in (1.5, "1", None):
        with pytest.raises(TypeError):
            env.step(none)
    with pytest.raises(TypeError):
        env.reset(options={"instance_seed": 3.7})
    for _ in range(50):
        env.step(0)
    with pytest.raises(ValueError, match="ended"):
        env.step(0)
    env.close()


@pytest.mark.parametrize("regime", REGIMES)
def test_many_are_the_single_ones(regime):
    """Side by side, episodes are those that are played alone."""
    n = 9
    many = gymnasium.make_vec(f"SpatialStale-{regime}-v0", num_envs=n)
    alone = [SpatialStaleEnv(regime) for _ in range(n)]
    observation, info = many.reset(seed=7)
    single = [env.reset(seed=int(s))[0] for env, s in zip(alone, info["instance_seed"])]
    over = np.zeros(n, bool)
    actions = np.random.default_rng(5)
    for _ in range(150):
        assert many.observation_space.contains(observation)
        for i in range(n):
            for key in single[i]:
                assert np.array_equal(observation[key][i], single[i][key]), key
        action = actions.integers(4, size=n)
        observation, reward, terminated, truncated, info = many.step(action)
        for i in range(n):
            if over[i]:
                assert info["_instance_seed"][i] and reward[i] == 0 and not terminated[i] and not truncated[i]
                single[i], _ = alone[i].reset(seed=int(info["instance_seed"][i]))
            else:
                single[i], r, term, trunc, _ = alone[i].step(action[i])
                assert (reward[i], terminated[i], truncated[i]) == (r, term, trunc)
        over = terminated | truncated
    many.close()
    for env in alone:
        env.close()


def test_many_resets():
    many = SpatialStaleVectorEnv(4, "L3")
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.step(np.zeros(4, int))
    _, info = many.reset(seed=[1734, None, 4810, 5])
    assert info["instance_seed"][[0, 2, 3]].tolist() == [1734, 4810, 5]
    a = [many.reset(seed=3)[1]["instance_seed"].tolist() for _ in range(2)]
    assert a[0] == a[1]
    for wrong in (np.zeros(3, int), np.full(4, 4), np.full(4, -1), np.zeros(4)):
        with pytest.raises(ValueError):
            many.step(wrong)
    first, *_ = many.step(np.zeros(4, int))
    kept = {k: v.copy() for k, v in first.items()}
    for _ in range(60):
        many.step(np.full(4, 1))
    assert all(np.array_equal(first[k], kept[k]) for k in kept), "an observation changed after it was handed out"
    many.close()


@pytest.mark.parametrize("seeds", [[1, 2, 3, 4], [5, None, 2**70, 6]])
def test_many_seeds_are_those_of_single_ones(seeds):
    """A list of seeds is that many environments, each reset with its own: the
    lakes that follow are theirs as well, and come again."""
    n = len(seeds)

    many = SpatialStaleVectorEnv(n, "L3")
    many.reset(seed=99)

    def play():
        rng, seen = np.random.default_rng(1), [[] for _ in range(n)]
        _, info = many.reset(seed=seeds)
        for i, lake in enumerate(info["instance_seed"]):
            seen[i].append(int(lake))
        for _ in range(200):
            *_, info = many.step(rng.integers(4, size=n))
            for i in np.flatnonzero(info.get("_instance_seed", np.zeros(n, bool))):
                seen[i].append(int(info["instance_seed"][i]))
        return seen

    seen = play()
    assert min(len(s) for s in seen) > 3
    again = play()
    for i, seed in enumerate(seeds):
        if seed is None:
            continue
        assert seen[i] == again[i], f"episode {i} is another one the second time"
        alone = SpatialStaleEnv("L3")
        want = [alone.reset(seed=seed)[1]["instance_seed"]]
        want += [alone.reset()[1]["instance_seed"] for _ in seen[i][1:]]
        assert seen[i] == want
        alone.close()
    # A number seeds one generator for all again.
    a = [many.reset(seed=3)[1]["instance_seed"].tolist() for _ in range(2)]
    assert a[0] == a[1]
    many.close()


def test_many_look_at_no_action_of_an_ended_episode():
    many = SpatialStaleVectorEnv(2, "L1", seeds=[1734])
    many.reset(seed=1)
    ended = np.zeros(2, bool)
    while not ended.any():
        *_, terminated, truncated, _ = many.step(np.array([0, 1]))
        ended = terminated | truncated
    assert not ended.all()
    actions = np.where(ended, 9, 0)
    _, _, _, _, info = many.step(actions)
    assert info["_instance_seed"].tolist() == ended.tolist()
    with pytest.raises(ValueError, match="0 LEFT"):
        many.step(np.full(2, 9))
    many.close()


def test_seeds():
    """Gymnasium's seeds know no upper end, and lakes have one."""
    env, many = SpatialStaleEnv("L1"), SpatialStaleVectorEnv(2, "L1")
    assert env.reset(seed=2**63 + 5)[1]["instance_seed"] == 5
    assert many.reset(seed=[2**63 + 5, 2**63 - 1])[1]["instance_seed"].tolist() == [5, 2**63 - 1]
    assert env.reset(seed=np.int64(5))[1]["instance_seed"] == 5
    many.reset(seed=2**80)
    for wrong, error, words in (
        (lambda: env.reset(seed=-1), ValueError, "seed -1: it must not be negative"),
        (lambda: env.reset(seed=1.7), TypeError, "seed 1.7: it must be an integer"),
        (lambda: env.reset(options={"instance_seed": 2**63}), ValueError, "below 2..63"),
        (lambda: many.reset(seed=[1, -1]), ValueError, "seed -1: it must not be negative"),
        (lambda: many.reset(seed=[1, 1.7]), TypeError, "seed 1.7: it must be an integer"),
        (lambda: many.reset(seed=1.7), TypeError, "seed 1.7: give an integer, or a list of 2"),
        (lambda: many.reset(seed=[1]), ValueError, "1 seeds for 2 environments"),
        (lambda: SpatialStaleEnv("L1", seeds=[1.7]), TypeError, "seed 1.7"),
        (lambda: SpatialStaleVectorEnv(2, "L1", seeds=[2**63]), ValueError, "below 2..63"),
        (lambda: env.step(10**30), ValueError, "action 10+: there are 0 LEFT"),
    ):
        with pytest.raises(error, match=words):
            wrong()
    env.close()
    many.close()


def test_a_refused_reset_changes_nothing():
    for refused in ({"options": {"size": 3}}, {"seed": -1}, {"seed": "1"}):
        env = SpatialStaleEnv("L1")
        env.reset(seed=5)
        want = [env.reset()[1]["instance_seed"] for _ in range(5)]
        env.reset(seed=5)
        with pytest.raises((ValueError, TypeError)):
            env.reset(**{"seed": 7, **refused})
        assert [env.reset()[1]["instance_seed"] for _ in range(5)] == want
        env.close()
    for make, seed in ((lambda: SpatialStaleEnv("L1"), 5), (lambda: SpatialStaleVectorEnv(3, "L1"), 5), (lambda: SpatialStaleVectorEnv(3, "L1"), [5, 6, 7])):
        env = make()
        env.reset(seed=seed)
        want = [np.array(env.reset()[1]["instance_seed"]).tolist() for _ in range(5)]
        env.reset(seed=seed)
        ask = env._session.ask

        def refuse(request):
            raise ValueError("no such lake")

        for again in (7, None, [7] * 3 if seed != 5 else 8):
            env._session.ask = refuse
            with pytest.raises(ValueError, match="no such lake"):
                env.reset(seed=again)
            env._session.ask = ask
        assert [np.array(env.reset()[1]["instance_seed"]).tolist() for _ in range(5)] == want
        env.close()


def test_what_is_held_stays():
    """Observations, parts of them and views keep what they showed."""
    many = SpatialStaleVectorEnv(16, "L3")
    observation, _ = many.reset(seed=3)
    rng = np.random.default_rng(3)
    held, rows = [], []
    for step in range(80):
        if step % 3 == 0:
            held.append((observation, {k: v.copy() for k, v in observation.items()}))
        rows.append((observation["grid"][step % 16], observation["grid"][step % 16].copy()))
        observation, *_ = many.step(rng.integers(4, size=16))
    for got, want in held:
        assert all(np.array_equal(got[k], want[k]) for k in want)
    assert all(np.array_equal(view, was) for view, was in rows)
    many.close()


def test_the_program_dies():
    env = SpatialStaleEnv("L1")
    env.reset(seed=1)
    env._session._process.kill()
    with pytest.raises(RuntimeError, match="ended by signal 9: it said nothing$"):
        for _ in range(3):
            env.step(0)
    for again in (lambda: env.step(0), env.reset, env.reset):
        with pytest.raises(RuntimeError, match="ended by signal 9: it said nothing; make the environment anew"):
            again()
    env.close()


def test_another_program(tmp_path):
    with pytest.raises(RuntimeError, match="echo does not speak the protocol of spatialstale env: it wrote 'env --regime L1"):
        SpatialStaleEnv("L1", binary="/bin/echo")
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho '{\"version\": 3}'\n")
    other.chmod(0o755)
    with pytest.raises(RuntimeError, match="does not speak the protocol"):
        SpatialStaleEnv("L1", binary=other)


def test_a_dropped_environment_ends_its_program():
    env = SpatialStaleEnv("L1")
    process = env._session._process
    del env
    gc.collect()
    assert process.poll() is not None
    with pytest.raises(TypeError):
        SpatialStaleEnv("L1", seeds=5)


def test_nothing_is_left_behind():
    env = SpatialStaleEnv("L1")
    process = env._session._process
    env.close()
    assert process.returncode == 0
    assert not os.path.exists(f"/proc/{process.pid}/exe")
