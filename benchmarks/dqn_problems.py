"""The problems of `dqn.py`, with the settings that Stable-Baselines3's zoo has tuned for its DQN there."""

from typing import NamedTuple


class Problem(NamedTuple):
    """An environment, and the settings of DQN; those of the zoo under its own names, `FrozenLake-v1` has ours."""

    steps: int
    learning_rate: float
    batch_size: int
    buffer_size: int
    learning_starts: int
    gamma: float
    target_update_interval: int  # steps
    train_freq: int
    gradient_steps: int
    exploration_fraction: float
    exploration_final_eps: float
    hidden: tuple[int, ...] = (256, 256)

    @property
    def lessons_per_jump(self) -> int:
        """Lessons between two jumps of the target network: while lessons are taken no step is made, so it stands."""
        return max(self.gradient_steps, self.target_update_interval * self.gradient_steps // self.train_freq)


PROBLEMS = {
    "CartPole-v1": Problem(50_000, 2.3e-3, 64, 100_000, 1_000, 0.99, 10, 256, 128, 0.16, 0.04),
    "Acrobot-v1": Problem(100_000, 6.3e-4, 128, 50_000, 1, 0.99, 250, 4, 4, 0.12, 0.1),
    "MountainCar-v0": Problem(120_000, 4e-3, 128, 10_000, 1_000, 0.98, 600, 16, 8, 0.2, 0.07),
    "FrozenLake-v1": Problem(20_000, 1e-3, 64, 20_000, 500, 0.99, 500, 4, 2, 0.5, 0.1, (64, 64)),
}
"""The last one has a table: there the score is the share of the optimum, exactly."""
