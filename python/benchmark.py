"""Steps a second beside Gymnasium's own FrozenLake, with random actions.

    python python/benchmark.py

Prints what each reaches and the ratios; machines differ, ratios less so.
"""

import time

import gymnasium
import numpy as np

import spatialstale  # noqa: F401  registers the environments

SECONDS = 3


def single(env):
    env.reset(seed=1)
    actions = np.random.default_rng(1).integers(4, size=4096).tolist()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        steps += len(actions)
    rate = steps / (time.perf_counter() - began)
    env.close()
    return rate


def many(env):
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    actions = [rng.integers(4, size=env.num_envs) for _ in range(32)]
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        for action in actions[: max(1, 65536 // env.num_envs)]:
            env.step(action)
            steps += env.num_envs
    rate = steps / (time.perf_counter() - began)
    env.close()
    return rate


def main():
    theirs = single(gymnasium.make("FrozenLake-v1", map_name="8x8"))
    their_many = many(gymnasium.make_vec("FrozenLake-v1", num_envs=64, vectorization_mode="sync", map_name="8x8"))
    print(f"FrozenLake-v1, one:              {theirs:12,.0f} steps/s")
    print(f"FrozenLake-v1, 64 side by side:  {their_many:12,.0f} steps/s")
    print(f"SpatialStale-L1-v0, one:         {single(gymnasium.make('SpatialStale-L1-v0')):12,.0f} steps/s")
    for regime in ("L1", "L2", "L3"):
        ours = many(gymnasium.make_vec(f"SpatialStale-{regime}-v0", num_envs=4096))
        print(
            f"SpatialStale-{regime}-v0, 4096 side by side: {ours:8,.0f} steps/s: "
            f"{ours / theirs:.1f} times one FrozenLake, {ours / their_many:.1f} times 64 of them"
        )


if __name__ == "__main__":
    main()
