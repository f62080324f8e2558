"""Q-learning with many seeds as ``jax.vmap`` of ``jax.lax.scan``; run by `many_seeds.py`, in JAX's environment.

``python seeds_in_jax.py TABLE.npz SEEDS STEPS`` prints the seconds of the first call, compiling included, and of the
second one; and the mean of the learned values, so that nothing is optimised away.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


def main() -> None:
    """Measure."""
    file, seeds, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with np.load(file) as table:
        next_state, reward, done = (jnp.asarray(table[name]) for name in ("next_state", "reward", "done"))
        start = int(table["start"])
    n_states, n_actions = next_state.shape

    def step(carry, _):
        q, state, key, total = carry
        key, explore_key, action_key = jax.random.split(key, 3)
        explores = jax.random.uniform(explore_key) < 0.1
        action = jnp.where(explores, jax.random.randint(action_key, (), 0, n_actions), jnp.argmax(q[state]))
        following, paid, end = next_state[state, action], reward[state, action], done[state, action]
        target = paid + jnp.where(end, 0.0, 0.99 * jnp.max(q[following]))
        q = q.at[state, action].add(0.1 * (target - q[state, action]))
        return (q, jnp.where(end, start, following), key, total + paid), None

    def run(key):
        q = jnp.zeros((n_states, n_actions))
        (q, _, _, total), _ = jax.lax.scan(step, (q, start, key, 0.0), length=steps)
        return q, total

    learn = jax.jit(jax.vmap(run))
    keys = jax.random.split(jax.random.PRNGKey(0), seeds)
    for _ in range(2):
        before = time.perf_counter()
        q, _ = jax.block_until_ready(learn(keys))
        print(time.perf_counter() - before)
    print(float(q.mean()))


if __name__ == "__main__":
    main()
