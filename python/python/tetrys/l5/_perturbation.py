"""Moves the ego of a training sample aside, and fits a drivable future that leads back to the recorded one.

Follows L5Kit's `kinematic` and `random` packages: the same calls, the same random numbers in the same order, the same results.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import number, whole
from .._errors import OutOfRange, WrongType, WrongValue, array_of, found
from .._tetrys import Invalid
from ._checks import floats, function, records
from ._records import FRAME_DTYPE

Frames = npt.NDArray[Any]
"""A structured array with the fields `ego_translation` [3] in metres and `ego_rotation` [3, 3]."""
Floats = npt.NDArray[np.float64]
_FARTHEST = 1e9
"""Metres from the origin of the world: beyond, the fit of a path is without meaning."""


class RandomGenerator(ABC):
    """Draws values: each call returns an array."""

    @abstractmethod
    def _sample(self) -> npt.NDArray[Any]: ...

    def __call__(self) -> npt.NDArray[Any]:
        """Returns the next values."""
        return self._sample()


class LambdaRandomGenerator(RandomGenerator):
    """Draws values from a function."""

    def __init__(self, sampling_function: Callable[[], npt.NDArray[Any]]) -> None:
        self.sampling_function = function("sampling_function", sampling_function)

    def _sample(self) -> npt.NDArray[Any]:
        drawn: npt.NDArray[Any] = self.sampling_function()
        return drawn


class ReplayRandomGenerator(RandomGenerator):
    """Returns the given values one after another. After the last one, a call raises IndexError.

    Example:
        >>> from tetrys.l5 import ReplayRandomGenerator
        >>> offsets = ReplayRandomGenerator([[0.5, 0.0, 0.1]])
        >>> offsets()
        array([0.5, 0. , 0.1])
    """

    def __init__(self, values: npt.ArrayLike) -> None:
        self._values = array_of("values", values)
        if self._values.ndim == 0:
            raise WrongType(f"values: expected a list, found {found(values)}")
        self._next = 0

    def _sample(self) -> npt.NDArray[Any]:
        if self._next == len(self._values):
            raise OutOfRange(f"all {len(self._values)} values have been used")
        self._next += 1
        return np.array(self._values[self._next - 1])


class GaussianRandomGenerator(RandomGenerator):
    """Draws from normal distributions with its own generator, so `numpy.random.seed` has no effect on it.

    Args:
        mean, std: Mean and standard deviation of each value.
        random_seed: Seed; None draws other values each time.
    """

    def __init__(self, mean: npt.ArrayLike, std: npt.ArrayLike, random_seed: int | None = 0) -> None:
        self.mean, self.std = _pair("mean", mean, "std", std)
        if (self.std < 0).any():
            raise WrongValue(f"std: expected numbers from 0, found {float(self.std.min())}")
        self.rng = np.random.default_rng(None if random_seed is None else whole("random_seed", random_seed))

    def _sample(self) -> npt.NDArray[Any]:
        return np.asarray(self.rng.normal(self.mean, self.std))


class UniformRandomGenerator(RandomGenerator):
    """Draws from [low, high) with numpy's global generator, which `numpy.random.seed` sets."""

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike) -> None:
        self.low, self.high = _pair("low", low, "high", high)
        if not np.isfinite(self.high - self.low).all():
            raise WrongValue("low and high: their difference is not finite")

    def _sample(self) -> npt.NDArray[Any]:
        return np.asarray(np.random.uniform(self.low, self.high))


def _pair(first: str, values: object, second: str, others: object) -> tuple[Floats, Floats]:
    """Returns two arrays of finite numbers whose shapes fit together."""
    made = floats(first, values).copy(), floats(second, others).copy()
    for name, array in zip((first, second), made, strict=True):
        if not np.isfinite(array).all():
            raise WrongValue(f"{name}: expected finite numbers")
    try:
        np.broadcast_shapes(made[0].shape, made[1].shape)
    except ValueError:
        raise WrongValue(f"{first} and {second}: the shapes {list(made[0].shape)} and {list(made[1].shape)} do not fit together") from None
    return made


class Perturbation(ABC):
    """Changes the ego poses of a sample, before everything else is computed from them."""

    @abstractmethod
    def perturb(self, history_frames: Frames, future_frames: Frames) -> tuple[Frames, Frames]:
        """Returns history and future frames with other `ego_translation` and `ego_rotation`.

        Args:
            history_frames: The current frame and those before it, newest first.
            future_frames: The frames after the current one.
        """


class AckermanPerturbation(Perturbation):
    """Moves and turns the ego of the current frame, and fits the future from there to the recorded one.

    The fitted future obeys a kinematic car model: see `fit_ackerman_model_exact`. Frames before the current one stay as they are.

    Args:
        random_offset_generator: Returns the offsets of a sample: to the left in metres, ahead in metres, and of the yaw in rad.
        perturb_prob: Probability that a sample is changed. Each sample draws from numpy's global generator.
        min_displacement: Least length of the future path in metres; of shorter ones only the offset ahead applies.

    Example:
        >>> from tetrys.l5 import AckermanPerturbation, GaussianRandomGenerator
        >>> perturbation = AckermanPerturbation(GaussianRandomGenerator([0.0, 0.0, 0.0], [0.5, 0.0, 0.1]), perturb_prob=0.5)
    """

    def __init__(
        self, random_offset_generator: Callable[[], npt.ArrayLike], perturb_prob: float, min_displacement: float = 0
    ) -> None:
        self.perturb_prob = number("perturb_prob", perturb_prob)
        if not 0 <= self.perturb_prob <= 1:
            raise WrongValue(f"perturb_prob: {self.perturb_prob} is outside: expected 0 to 1")
        self.min_displacement = number("min_displacement", min_displacement)
        self.random_offset_generator = function("random_offset_generator", random_offset_generator)
        if perturb_prob == 0:
            warnings.warn("perturb_prob is 0: pass None instead of a perturbation", RuntimeWarning, stacklevel=2)

    def perturb(self, history_frames: Frames, future_frames: Frames) -> tuple[Frames, Frames]:
        """Returns changed frames, or copies if the sample stays as it is. Changes the arrays that it is given, as L5Kit does.

        Raises:
            Invalid: there is no current frame, or no future.
        """
        fields = ["ego_translation", "ego_rotation"]
        for name, frames in (("history_frames", history_frames), ("future_frames", future_frames)):
            if records(name, frames, fields, FRAME_DTYPE).ndim != 1:
                raise WrongValue(f"{name}: expected the shape [N], found {list(frames.shape)}")
        if np.random.rand() >= self.perturb_prob:
            return history_frames.copy(), future_frames.copy()
        left, ahead, turn = floats("offsets of random_offset_generator", self.random_offset_generator(), (3,)).tolist()
        if not np.isfinite([left, ahead, turn]).all():
            raise WrongValue(f"offsets of random_offset_generator: expected finite numbers, found {[left, ahead, turn]}")
        if len(history_frames) == 0 or len(future_frames) == 0:
            lengths = f"{len(history_frames)} history frames and {len(future_frames)} future frames"
            raise Invalid(f"a perturbation needs the current frame and a future, found {lengths}")
        path = _path(history_frames[:1], future_frames)
        # L5Kit rounds the path to f32, and computes with f64 from there.
        if not (np.abs(path) < _FARTHEST).all():
            raise WrongValue("the frames of a sample: expected finite poses within 1e9 m, found others")
        displacements = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1)
        if float(np.sum(displacements)) < self.min_displacement:
            left = turn = 0.0
        x, y, yaw = path[0].astype(np.float64)
        start = np.array([x, y]) + _rotation(yaw)[:2, :2] @ np.array([ahead, left])
        ones, zeros = np.ones(len(future_frames)), np.zeros(len(future_frames))
        goal_x, goal_y, goal_yaw = path[1:].astype(np.float64).T
        speeds = displacements.astype(np.float64)
        state = (start[0], start[1], yaw + turn, speeds[0])
        fit = fit_ackerman_model_exact(*state, goal_x, goal_y, goal_yaw, speeds, ones, ones, ones, zeros)
        history_frames["ego_translation"][0, :2] = start
        history_frames["ego_rotation"][0] = _rotation(yaw + turn)
        future_frames["ego_translation"][:, 0] = fit[0]
        future_frames["ego_translation"][:, 1] = fit[1]
        future_frames["ego_rotation"] = np.array([_rotation(angle) for angle in fit[2]])
        return history_frames, future_frames


_MOST_GOALS = 4096


def _all_finite(name: str, values: Floats) -> Floats:
    if not np.isfinite(values).all() or (np.abs(values) > 1e15).any():
        raise WrongValue(f"{name}: expected finite numbers below 1e15")
    return values


def fit_ackerman_model_exact(
    x0: float,
    y0: float,
    r0: float,
    v0: float,
    gx: Floats,
    gy: Floats,
    gr: Floats,
    gv: Floats,
    wgx: Floats,
    wgy: Floats,
    wgr: Floats,
    wgv: Floats,
    ws: float = 5.0,
    wa: float = 5.0,
    min_acc: float = -0.3,
    max_acc: float = 0.3,
    min_steer: float = -math.radians(45) * 0.1,
    max_steer: float = math.radians(45) * 0.1,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Fits the path of a car that starts at a given state to N goal states.

    In each step, the yaw changes by `steer`, the speed by `acc`, and the car moves by its speed in the direction of its yaw. The
    fit minimises the weighted squares of the distances from the goals, of `steer` and of `acc`. A step is the unit of time, so
    speeds are metres per step.

    Args:
        x0, y0, r0, v0: Position in metres, yaw in rad and speed at the start.
        gx, gy, gr, gv: The same of each goal, [N].
        wgx, wgy, wgr, wgv: Weights of the distances from each goal, [N].
        ws, wa: Weights of `steer` and of `acc`.
        min_acc, max_acc: Limits of `acc`.
        min_steer, max_steer: Limits of `steer` in rad.

    Returns x, y, yaw, speed, acc and steer of each step, [N] each.

    Raises:
        ValueError, TypeError (both an `Invalid`): an argument is no finite number or no array of N, or a lower limit is not below
            the upper.
    """
    each = {"gx": gx, "gy": gy, "gr": gr, "gv": gv, "wgx": wgx, "wgy": wgy, "wgr": wgr, "wgv": wgv}
    size = floats("gx", gx).shape
    if len(size) != 1 or not 0 < size[0] <= _MOST_GOALS:
        raise WrongValue(f"gx: expected one coordinate for each of 1 to {_MOST_GOALS} goals, found the shape {list(size)}")
    gx, gy, gr, gv, wgx, wgy, wgr, wgv = (_all_finite(name, floats(name, value, size)) for name, value in each.items())
    single = {"x0": x0, "y0": y0, "r0": r0, "v0": v0, "ws": ws, "wa": wa}
    x0, y0, r0, v0, ws, wa = (float(_all_finite(name, floats(name, value, ()))) for name, value in single.items())
    limits = {"min_acc": min_acc, "max_acc": max_acc, "min_steer": min_steer, "max_steer": max_steer}
    min_acc, max_acc, min_steer, max_steer = (float(_all_finite(name, floats(name, value, ()))) for name, value in limits.items())
    if not min_acc < max_acc or not min_steer < max_steer:
        raise WrongValue(f"min_acc, max_acc, min_steer, max_steer: expected lower limits below the upper, found {min_acc}, {max_acc}, {min_steer}, {max_steer}")
    start, goals, weights = (x0, y0, r0, v0), (gx, gy, gr, gv), (wgx, wgy, wgr, wgv)
    return _tetrys.l5_fit_ackerman_model_exact(start, goals, weights, (ws, wa), (min_steer, max_steer), (min_acc, max_acc))


def _path(current: Frames, future: Frames) -> npt.NDArray[np.float32]:
    """Returns x, y and yaw of the current frame and of the future, [1 + F, 3]."""
    frames = np.concatenate([current, future])
    path = np.zeros((len(frames), 3), np.float32)
    path[:, :2] = frames["ego_translation"][:, :2]
    path[:, 2] = [_yaw(rotation) for rotation in frames["ego_rotation"]]
    return path


def _yaw(rotation: Floats) -> float:
    """Returns the yaw of a rotation matrix in rad; 0 if it points straight up or down."""
    sine, cosine = float(rotation[1, 0]), float(rotation[0, 0])
    if math.sqrt(cosine * cosine + sine * sine) <= 4 * np.finfo(np.float64).eps:
        return 0.0
    return math.atan2(sine, cosine)


def _rotation(yaw: float) -> Floats:
    """Returns the rotation matrix [3, 3] of a yaw in rad."""
    cosine, sine = math.cos(yaw), math.sin(yaw)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
