"""The compiled loop of all online boosters: rows x weak learners x latents.

A weak learner is a network with one small hidden layer. All of them are stored side by side:

    units = a row per input, [hash buckets | columns], of [learner 0 | learner 1 | ...]
    head  = [bias of units | weights of outputs | biases of outputs | combination]
    wide  = a row per input, of [output 0 | output 1 | ...]

Only the non-zero inputs of a row are visited, so categories and 0/1 columns cost almost
nothing. `squares` are Adagrad's sums of squared gradients. `past` turns weights into their
average over the rows: where row i counts c_i and C_i is the sum of c up to it, a change d made at
row i adds C_(i-1) d to `past`, and the average is weights - past / C_n.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

NON_LINEAR, LINEAR, MAJORITY, ADAPTIVE, IMPORTANCE, GRADIENT, STREAM = range(7)
RESIDUAL, PREFIX, FULL = range(3)
LOG, AVERAGE_PRECISION = range(2)
HALF_BINS = 48  # of scores, on either side of 0

_FURTHEST = 5.0  # standard deviations; values further out are clipped
_FURTHEST_NOTED = 10.0  # the same for what the mean and the spread learn from a value
_FIRST_VALUES = 8.0  # too few to say what is far out
NEXT_VALUES = 16.0  # enough to say whether the first ones had an outlier
_POISONED = 100.0  # times the variance of the next values
_EPSILON = 1e-6
_BIN = 0.25  # of log-odds
_FORGET = 1.0 - 1.0 / 50_000.0  # how far back, in rows, the list of scores looks
_WARM_POSITIVES = 20  # with fewer positives, there is no list yet
_LEAST_WEIGHT = 0.1  # of a row far down the list
_LARGEST_ALPHA = 2.0
_ROWS_BEFORE = 100.0
_AVERAGING_POWER = 8.0  # row i counts i^8 in the average: the last ninth of the rows, about
_CALIBRATION_RATE = 0.3
_LEAST_SLOPE = 1e-3  # probabilities never decrease as the raw score rises
_NONE_LEFT_OUT = np.int64(-1)  # a plain -1 would be a type of its own to numba, compiled again


class Shape(NamedTuple):
    """The sizes of a booster and how it learns."""

    rule: int
    update: int
    loss: int
    n_learners: int
    width: int
    n_latents: int
    n_outputs: int
    n_buckets: int
    rate: float
    step: float
    edge: float
    seed: int
    is_averaged: bool
    is_balanced: bool
    is_calibrated: bool
    is_wide: bool


class Weights(NamedTuple):
    """What a booster has learned."""

    units: np.ndarray
    units_squares: np.ndarray
    units_past: np.ndarray
    head: np.ndarray
    head_squares: np.ndarray
    head_past: np.ndarray
    wide: np.ndarray
    wide_squares: np.ndarray
    wide_past: np.ndarray


class SeenValues(NamedTuple):
    """Statistics of the rows learned from."""

    n_values: np.ndarray
    """Per column: how many numbers were seen."""
    mean: np.ndarray
    spread: np.ndarray
    """Per column: the sum of squared distances from the mean."""
    is_flag: np.ndarray
    """Per column: whether every value was 0 or 1."""
    n_next: np.ndarray
    """Per column: how many of the 16 values after the first 8 were seen, and of those alone:"""
    mean_next: np.ndarray
    spread_next: np.ndarray
    rows: np.ndarray
    """Per class: the rows seen."""
    averaging: np.ndarray
    """[C_n, n] of the average of weights."""
    ranked: np.ndarray
    """(class, bin): recent scores, if the loss needs them."""
    calibration: np.ndarray
    """[slope, start] that turn raw scores into log-odds, and their sums of squared gradients."""


class LabelTally(NamedTuple):
    """The labels and weights of rows."""

    places: np.ndarray
    """Per row: the place of its class."""
    row_weights: np.ndarray
    class_weights: np.ndarray
    """Per place: the weight of its rows for the learners, but not for calibration."""


class _Scratch(NamedTuple):
    """Buffers for the intermediate values of one row."""

    inputs: np.ndarray
    amounts: np.ndarray
    units: np.ndarray
    outputs: np.ndarray
    outputs_gradient: np.ndarray
    head_gradient: np.ndarray
    head: np.ndarray
    """The head that scores."""
    wide: np.ndarray
    """What the wide part adds to each output."""


@njit(cache=True, error_model="numpy")
def learn(learned, labels, scored, n_known, first, highest, shape, weights, seen, raw, log_odds):
    """Learn from rows in their order, and score others on the way; return -1 once all is done.

    Row i of `scored`, from `first` on, is scored once exactly the first `n_known[i]` of `learned`
    have been learned. It stops after a row whose log-odds are `highest` or more, so that the
    caller can look at the model as it is then: it returns the next row, with which to resume.
    """
    scratch = _scratch(shape, max(learned.values.shape[1], scored.values.shape[1]), weights)
    n_learned = n_known[first - 1] if first > 0 else 0
    for i in range(first, n_known.size):
        for k in range(n_learned, n_known[i]):
            _learn_row(
                learned.values[k], learned.buckets[k], labels, k, shape, weights, seen, scratch
            )
        n_learned = max(n_learned, n_known[i])
        fill_head(shape, weights, seen, scratch.head)
        _score_row(
            scored.values[i], scored.buckets[i],
            shape, weights, seen, scratch, _NONE_LEFT_OUT, raw[i],
        )  # fmt: skip
        if seen.averaging[1] == 0.0:
            raw[i] = 0.0  # nothing is learned yet
        log_odds[i] = seen.calibration[0] * raw[i, 0] + seen.calibration[1]
        if log_odds[i] >= highest:
            return i + 1
    for k in range(n_learned, learned.values.shape[0]):
        _learn_row(learned.values[k], learned.buckets[k], labels, k, shape, weights, seen, scratch)
    return -1


@njit(cache=True, error_model="numpy")
def score(values, buckets, shape, weights, seen, left_out, raw):
    """Fill the raw scores of rows, (row, output); leaves out one learner, or none with -1."""
    scratch = _scratch(shape, values.shape[1], weights)
    fill_head(shape, weights, seen, scratch.head)
    for i in range(values.shape[0]):
        _score_row(values[i], buckets[i], shape, weights, seen, scratch, left_out, raw[i])


@njit(cache=True, error_model="numpy")
def weak_outputs(values, buckets, shape, weights, seen, outputs):
    """Fill each weak learner's output for each row, (row, learner, output)."""
    scratch, raw = _scratch(shape, values.shape[1], weights), np.empty(shape.n_outputs)
    fill_head(shape, weights, seen, scratch.head)
    for i in range(values.shape[0]):
        _score_row(values[i], buckets[i], shape, weights, seen, scratch, _NONE_LEFT_OUT, raw)
        outputs[i] = scratch.outputs


@njit(cache=True, error_model="numpy")
def _score_row(values, buckets, shape, weights, seen, scratch, left_out, raw):
    """Fill the raw scores of one row by the head that scores."""
    inputs, amounts, units, head = scratch.inputs, scratch.amounts, scratch.units, scratch.head
    n_active = _find_inputs(values, buckets, shape, seen, inputs, amounts)
    _fill_average_units(inputs, amounts, n_active, shape, weights, seen, head, units)
    _fill_outputs(units, head, shape, scratch.outputs)
    if left_out >= 0:
        scratch.outputs[left_out] = 0.0
    _fill_raw(scratch.outputs, _combination(head, shape), shape, raw)
    if shape.is_wide:
        _fill_wide(inputs, amounts, n_active, shape, weights, seen, True, scratch.wide)
        raw += scratch.wide


@njit(cache=True, error_model="numpy")
def _learn_row(values, buckets, labels, k, shape, weights, seen, scratch):
    """Take one step by one row; rows with zero weight are ignored."""
    label, row_weight = labels.places[k], labels.row_weights[k]
    weight = row_weight * labels.class_weights[label]
    if weight == 0.0:
        return
    raw = np.zeros(shape.n_outputs)
    if shape.is_calibrated:
        fill_head(shape, weights, seen, scratch.head)
        _score_row(values, buckets, shape, weights, seen, scratch, _NONE_LEFT_OUT, raw)
        if seen.averaging[1] == 0.0:
            raw[:] = 0.0  # as it was scored
        _calibrate(raw[0], label, row_weight, seen)
    _note_columns(values, seen)
    weight *= _note_class(label, shape, seen)
    if shape.loss == AVERAGE_PRECISION:
        weight *= _weight_in_list(raw[0], label, seen)
    inputs, amounts, units, outputs = scratch[:4]
    n_active = _find_inputs(values, buckets, shape, seen, inputs, amounts)
    _fill_units(inputs, amounts, n_active, weights.units, weights.head, units)
    _fill_outputs(units, weights.head, shape, outputs)
    scratch.head_gradient[:] = 0.0
    scratch.wide[:] = 0.0
    if shape.is_wide:
        _fill_wide(inputs, amounts, n_active, shape, weights, seen, False, scratch.wide)
    _fill_gradients(label, weight, shape, weights.head, seen, scratch)
    _fill_network_gradients(
        units, scratch.outputs_gradient, weights.head, shape, scratch.head_gradient
    )
    if shape.is_wide:
        _step_wide(inputs, amounts, n_active, weight, shape, weights, seen, scratch.head_gradient)
    _step(inputs, amounts, n_active, weight, shape, weights, seen, scratch.head_gradient)


@njit(cache=True)
def _scratch(shape, n_columns, weights):
    n_units, n_head = shape.n_learners * shape.width, weights.head.size
    outputs = np.empty((shape.n_learners, shape.n_outputs))
    return _Scratch(
        np.empty(n_columns, np.int64),
        np.empty(n_columns),
        np.empty(n_units),
        outputs,
        np.empty_like(outputs),
        np.empty(n_head),
        np.empty(n_head),
        np.zeros(shape.n_outputs),
    )


@njit(cache=True, error_model="numpy")
def _calibrate(raw, label, row_weight, seen):
    """Move slope and start of the log-odds by a row that the raw score has not learned from."""
    slope, start = seen.calibration[0], seen.calibration[1]
    gradient = row_weight * _log_slope(slope * raw + start, label)
    for k in range(2):
        own = gradient * raw if k == 0 else gradient
        seen.calibration[2 + k] += own * own
        change = _CALIBRATION_RATE * own / (math.sqrt(seen.calibration[2 + k]) + _EPSILON)
        seen.calibration[k] -= change
    seen.calibration[0] = max(seen.calibration[0], _LEAST_SLOPE)


@njit(cache=True, error_model="numpy")
def _weight_in_list(raw, label, seen):
    """Return the weight of a row for the loss "ap".

    With P positives and N negatives above a score, average precision changes by P / (P + N)^2
    for every pair that changes places there. Summed over the rows around the score, and their
    share of all rows above taken as constant, as it is in a tail that falls exponentially, this
    is the gradient of the log-loss times the precision of the list that ends at the score.
    """
    ranked = seen.ranked
    middle = ranked.shape[1] // 2
    place = min(max(math.floor(raw / _BIN) + middle, 0), ranked.shape[1] - 1)
    positives, negatives = 0.0, 0.0
    for k in range(place, ranked.shape[1]):
        negatives += ranked[0, k]
        positives += ranked[1, k]
    ranked *= _FORGET
    ranked[label, place] += 1.0
    if seen.rows[1] < _WARM_POSITIVES or positives + negatives <= 0.0:
        return 1.0
    return _LEAST_WEIGHT + (1.0 - _LEAST_WEIGHT) * positives / (positives + negatives)


# Rows and columns


@njit(cache=True, error_model="numpy")
def _note_columns(values, seen):
    """Add the numbers of a row to the running means and spreads."""
    for j in range(values.size):
        value = values[j]
        if value != value:
            continue
        if value != 0.0 and value != 1.0:
            seen.is_flag[j] = False
        if seen.n_values[j] >= _FIRST_VALUES:
            value = _without_extremes(value, seen.n_values[j], seen.mean[j], seen.spread[j])
        _add_value(value, j, seen.n_values, seen.mean, seen.spread)
        if seen.n_values[j] > _FIRST_VALUES and seen.n_next[j] < NEXT_VALUES:
            _add_value(value, j, seen.n_next, seen.mean_next, seen.spread_next)
            _forget_first_outlier(j, seen)


@njit(cache=True, error_model="numpy")
def _add_value(value, j, n_values, mean, spread):
    n_values[j] += 1.0
    away = value - mean[j]
    mean[j] += away / n_values[j]
    spread[j] += away * (value - mean[j])


@njit(cache=True, error_model="numpy")
def _without_extremes(value, n_values, mean, spread):
    """Return a value moved towards the mean if it is further out than any may be.

    That is 10 standard deviations, or sqrt(n) from the 100th value on. So the n-th value, however
    large, multiplies the variance by 1 + 100 / n at most, then by 2, while columns that are nearly
    always 0 soon have a scale that their other values show.
    """
    away = value - mean
    most = max(_FURTHEST_NOTED, math.sqrt(n_values))
    if spread <= 0.0 or away * away * n_values <= most * most * spread:
        return value
    furthest = most * math.sqrt(spread / n_values)
    return mean + min(max(away, -furthest), furthest)


@njit(cache=True, error_model="numpy")
def _forget_first_outlier(j, seen):
    """Start again from the next values where they show that the first ones had an outlier."""
    if seen.n_next[j] < NEXT_VALUES or seen.spread_next[j] <= 0.0:
        return
    variance, variance_next = seen.spread[j] / seen.n_values[j], seen.spread_next[j] / NEXT_VALUES
    if variance > _POISONED * variance_next:
        seen.n_values[j], seen.mean[j] = NEXT_VALUES, seen.mean_next[j]
        seen.spread[j] = seen.spread_next[j]


@njit(cache=True, error_model="numpy")
def _note_class(label, shape, seen):
    """Count a row's class; return the weight of its class."""
    seen.rows[label] += 1.0
    if not shape.is_balanced:
        return 1.0
    n_classes = seen.rows.size
    # as if some rows of each class had been seen already: Adagrad never forgets the step of a
    # first positive weighted against thousands of others
    n_rows = seen.rows.sum() + n_classes * _ROWS_BEFORE
    return n_rows / (n_classes * (seen.rows[label] + _ROWS_BEFORE))


@njit(cache=True, error_model="numpy")
def _find_inputs(values, buckets, shape, seen, inputs, amounts):
    """Fill the indices and values of the non-zero inputs; return how many there are."""
    n_active = 0
    for j in range(values.size):
        if buckets[j] >= 0:
            inputs[n_active], amounts[n_active] = buckets[j], 1.0
            n_active += 1
            continue
        amount = _scaled(values[j], j, shape, seen)
        if amount != 0.0:
            inputs[n_active], amounts[n_active] = shape.n_buckets + j, amount
            n_active += 1
    return n_active


@njit(cache=True, error_model="numpy")
def _scaled(value, j, shape, seen):
    """Return a number in standard deviations from the mean; flags stay 0 or 1.

    A wide part takes the inverse hyperbolic sine of it: near the mean the same, far out a
    logarithm, so that no value is cut off and none outweighs all others.
    """
    if value != value:
        return 0.0
    if seen.is_flag[j] and (value == 0.0 or value == 1.0):
        return value
    if seen.n_values[j] < 2.0 or seen.spread[j] <= 0.0:
        return 0.0
    away = (value - seen.mean[j]) / math.sqrt(seen.spread[j] / seen.n_values[j])
    if shape.is_wide:
        return math.asinh(away)
    return min(max(away, -_FURTHEST), _FURTHEST)


# Weak learners


@njit(cache=True, error_model="numpy")
def fill_head(shape, weights, seen, head):
    """Fill the head that scores: as it is now, or its average over the rows."""
    total = seen.averaging[0]
    if not shape.is_averaged or total == 0.0:
        head[:] = weights.head
        return
    for k in range(head.size):
        head[k] = weights.head[k] - weights.head_past[k] / total


@njit(cache=True, error_model="numpy")
def _fill_average_units(inputs, amounts, n_active, shape, weights, seen, head, units):
    """Fill the hidden units by the weights that score."""
    total = seen.averaging[0]
    if not shape.is_averaged or total == 0.0:
        _fill_units(inputs, amounts, n_active, weights.units, head, units)
        return
    units[:] = head[: units.size]
    for a in range(n_active):
        now, past = weights.units[inputs[a]], weights.units_past[inputs[a]]
        amount = amounts[a]
        for u in range(units.size):
            units[u] += amount * (now[u] - past[u] / total)
    for u in range(units.size):
        units[u] = max(units[u], 0.0)


@njit(cache=True, error_model="numpy")
def _fill_units(inputs, amounts, n_active, unit_weights, head, units):
    units[:] = head[: units.size]
    for a in range(n_active):
        now, amount = unit_weights[inputs[a]], amounts[a]
        for u in range(units.size):
            units[u] += amount * now[u]
    for u in range(units.size):
        units[u] = max(units[u], 0.0)


@njit(cache=True, error_model="numpy")
def _fill_outputs(units, head, shape, outputs):
    """Fill each weak learner's output from its hidden units."""
    n_learners, n_outputs, width = shape.n_learners, shape.n_outputs, shape.width
    start = units.size
    biases = start + units.size * n_outputs
    for t in range(n_learners):
        for j in range(n_outputs):
            said = head[biases + t * n_outputs + j]
            for k in range(t * width, (t + 1) * width):
                said += units[k] * head[start + k * n_outputs + j]
            outputs[t, j] = said


@njit(cache=True, error_model="numpy")
def _fill_network_gradients(units, outputs_gradient, head, shape, head_gradient):
    """Fill the gradients of the head up to the outputs; those of the units come first."""
    n_outputs, width, start = shape.n_outputs, shape.width, units.size
    biases = start + units.size * n_outputs
    for t in range(shape.n_learners):
        for j in range(n_outputs):
            gradient = outputs_gradient[t, j]
            head_gradient[biases + t * n_outputs + j] = gradient
            for k in range(t * width, (t + 1) * width):
                place = start + k * n_outputs + j
                head_gradient[place] = gradient * units[k]
                if units[k] > 0.0:
                    head_gradient[k] += gradient * head[place]


@njit(cache=True, error_model="numpy")
def _step(inputs, amounts, n_active, weight, shape, weights, seen, head_gradient):
    """Move every weight against its gradient, by Adagrad, and keep the average up to date."""
    before = seen.averaging[0]
    n_units = shape.n_learners * shape.width
    for a in range(n_active):
        place, amount = inputs[a], amounts[a] * weight
        now, squares = weights.units[place], weights.units_squares[place]
        past = weights.units_past[place]
        if shape.is_averaged:
            for u in range(n_units):
                gradient = amount * head_gradient[u]
                squares[u] += gradient * gradient
                change = shape.rate * gradient / (math.sqrt(squares[u]) + _EPSILON)
                now[u] -= change
                past[u] -= before * change
        else:
            for u in range(n_units):
                gradient = amount * head_gradient[u]
                squares[u] += gradient * gradient
                now[u] -= shape.rate * gradient / (math.sqrt(squares[u]) + _EPSILON)
    for k in range(weights.head.size):
        gradient = weight * head_gradient[k]
        weights.head_squares[k] += gradient * gradient
        change = shape.rate * gradient / (math.sqrt(weights.head_squares[k]) + _EPSILON)
        weights.head[k] -= change
        weights.head_past[k] -= before * change
    seen.averaging[1] += 1.0
    seen.averaging[0] += seen.averaging[1] ** _AVERAGING_POWER


# The wide part: a weight for each input, straight to the outputs


@njit(cache=True, error_model="numpy")
def _fill_wide(inputs, amounts, n_active, shape, weights, seen, is_to_score, wide):
    """Fill what the inputs add to each output, by the weights that learn or those that score."""
    total = seen.averaging[0]
    is_average = is_to_score and shape.is_averaged and total > 0.0
    wide[:] = 0.0
    for a in range(n_active):
        now, past = weights.wide[inputs[a]], weights.wide_past[inputs[a]]
        for j in range(shape.n_outputs):
            own = now[j] - past[j] / total if is_average else now[j]
            wide[j] += amounts[a] * own


@njit(cache=True, error_model="numpy")
def _step_wide(inputs, amounts, n_active, weight, shape, weights, seen, head_gradient):
    """Move the wide weights by the gradient of the constant, times their input."""
    gradients, before = _combination(head_gradient, shape), seen.averaging[0]
    for a in range(n_active):
        place = inputs[a]
        now, squares = weights.wide[place], weights.wide_squares[place]
        past = weights.wide_past[place]
        for j in range(shape.n_outputs):
            gradient = amounts[a] * weight * gradients[j]
            squares[j] += gradient * gradient
            change = shape.rate * gradient / (math.sqrt(squares[j]) + _EPSILON)
            now[j] -= change
            past[j] -= before * change


# How the weak learners are combined, one rule after the other


@njit(cache=True)
def _combination(head, shape):
    """Return the part of the head that combines the outputs."""
    n_units = shape.n_learners * shape.width
    return head[n_units + n_units * shape.n_outputs + shape.n_learners * shape.n_outputs :]


@njit(cache=True, error_model="numpy")
def _fill_raw(outputs, combination, shape, raw):
    """Fill the raw score of each output."""
    if shape.rule == NON_LINEAR:
        _non_linear_raw(outputs, combination, shape, raw)
    elif shape.rule == LINEAR:
        _linear_raw(outputs, combination, shape, raw)
    elif shape.rule == MAJORITY:
        raw[0] = _majority_raw(outputs)
    elif shape.rule == ADAPTIVE:
        raw[0] = _adaptive_raw(outputs, combination)
    elif shape.rule == IMPORTANCE:
        raw[0] = _importance_raw(outputs, combination)
    else:
        raw[0] = _gradient_raw(outputs, combination, shape)


@njit(cache=True, error_model="numpy")
def _fill_gradients(label, weight, shape, head, seen, scratch):
    """Fill the gradients of each weak learner's output and of the combination.

    Gradients are those of a row of weight 1. What does not follow a gradient is updated here,
    by the row's weight.
    """
    combination, gradient = _combination(head, shape), _combination(scratch.head_gradient, shape)
    outputs, outputs_gradient = scratch.outputs, scratch.outputs_gradient
    if shape.rule == NON_LINEAR:
        if shape.update == FULL:
            _non_linear_full(label, shape, combination, scratch, gradient)
        else:
            _non_linear_stages(label, shape, combination, scratch, gradient)
    elif shape.rule == LINEAR:
        _linear_stages(label, shape, combination, outputs, outputs_gradient, gradient)
    elif shape.rule == MAJORITY:
        _majority_stages(label, shape, outputs, outputs_gradient)
    elif shape.rule == GRADIENT or shape.rule == STREAM:
        _gradient_stages(label, weight, shape, combination, seen, outputs, outputs_gradient)
    else:
        _adaptive_stages(label, weight, shape, combination, seen, outputs, outputs_gradient)


@njit(cache=True, error_model="numpy")
def _fill_log_slope(raw, label, slope):
    """Fill probability minus truth; class 0 is the one whose raw score is always 0."""
    largest = 0.0
    for j in range(raw.size):
        largest = max(largest, raw[j])
    total = math.exp(-largest)
    for j in range(raw.size):
        slope[j] = math.exp(raw[j] - largest)
        total += slope[j]
    for j in range(raw.size):
        slope[j] /= total
    if label > 0:
        slope[label - 1] -= 1.0


# Non-linear: F = c + sum_p a_p relu(z_p), z_p = d_p + sum_t b_pt h_t, for each output;
# with a wide part, F has the sum of weighted inputs as well
# combination = [c: output | a: latent, output | d: latent, output | b: learner, latent, output]


@njit(cache=True, error_model="numpy")
def _non_linear_raw(outputs, combination, shape, raw):
    n_outputs, n_latents = shape.n_outputs, shape.n_latents
    per_learner = n_latents * n_outputs
    for j in range(n_outputs):
        raw[j] = combination[j]
        for p in range(n_latents):
            place = n_outputs + p * n_outputs + j
            latent = combination[place + per_learner]
            for t in range(shape.n_learners):
                latent += combination[place + (2 + t) * per_learner] * outputs[t, j]
            if latent > 0.0:
                raw[j] += combination[place] * latent


@njit(cache=True, error_model="numpy")
def _non_linear_full(label, shape, combination, scratch, gradient):
    """Every part by the loss of the whole model: plain backpropagation."""
    outputs, outputs_gradient = scratch.outputs, scratch.outputs_gradient
    n_outputs, n_latents, n_learners = shape.n_outputs, shape.n_latents, shape.n_learners
    per_learner = n_latents * n_outputs
    raw, slope = np.empty(n_outputs), np.empty(n_outputs)
    _non_linear_raw(outputs, combination, shape, raw)
    raw += scratch.wide
    _fill_log_slope(raw, label, slope)
    outputs_gradient[:] = 0.0
    for j in range(n_outputs):
        gradient[j] = slope[j]
        for p in range(n_latents):
            place = n_outputs + p * n_outputs + j
            latent = combination[place + per_learner]
            for t in range(n_learners):
                latent += combination[place + (2 + t) * per_learner] * outputs[t, j]
            if latent <= 0.0:
                continue
            gradient[place] = slope[j] * latent
            through = slope[j] * combination[place]
            gradient[place + per_learner] = through
            for t in range(n_learners):
                there = place + (2 + t) * per_learner
                gradient[there] = through * outputs[t, j]
                outputs_gradient[t, j] += through * combination[there]


@njit(cache=True, error_model="numpy")
def _non_linear_stages(label, shape, combination, scratch, gradient):
    """Learner t by the model of the first learners: residuals of t - 1, or the loss of t."""
    outputs, outputs_gradient = scratch.outputs, scratch.outputs_gradient
    n_outputs, n_latents, n_learners = shape.n_outputs, shape.n_latents, shape.n_learners
    per_learner = n_latents * n_outputs
    raw, slope = np.empty(n_outputs), np.empty(n_outputs)
    latents = combination[n_outputs + per_learner : n_outputs + 2 * per_learner].copy()
    _restricted_raw(latents, combination, scratch.wide, raw)
    _fill_log_slope(raw, label, slope)
    for t in range(n_learners):
        b = combination[n_outputs + (2 + t) * per_learner :][:per_learner]
        for j in range(n_outputs):
            # the square loss to the residual, which is minus the slope
            outputs_gradient[t, j] = 2.0 * (outputs[t, j] + slope[j])
            for p in range(n_latents):
                latents[p * n_outputs + j] += b[p * n_outputs + j] * outputs[t, j]
        _restricted_raw(latents, combination, scratch.wide, raw)
        _fill_log_slope(raw, label, slope)
        for j in range(n_outputs):
            gradient[j] += slope[j] / n_learners
            through_all = 0.0
            for p in range(n_latents):
                k = p * n_outputs + j
                if latents[k] <= 0.0:
                    continue
                through = slope[j] * combination[n_outputs + k]
                gradient[n_outputs + k] += slope[j] * latents[k] / n_learners
                gradient[n_outputs + per_learner + k] += through / n_learners
                gradient[n_outputs + (2 + t) * per_learner + k] = through * outputs[t, j]
                through_all += through * b[k]
            if shape.update == PREFIX:
                outputs_gradient[t, j] = through_all


@njit(cache=True, error_model="numpy")
def _restricted_raw(latents, combination, wide, raw):
    n_outputs = raw.size
    for j in range(n_outputs):
        raw[j] = combination[j] + wide[j]
        for k in range(j, latents.size, n_outputs):
            if latents[k] > 0.0:
                raw[j] += combination[n_outputs + k] * latents[k]


# Linear: F = c + sum_t b_t h_t, for each output; combination = [c: output | b: learner, output]


@njit(cache=True, error_model="numpy")
def _linear_raw(outputs, combination, shape, raw):
    n_outputs = shape.n_outputs
    for j in range(n_outputs):
        raw[j] = combination[j]
        for t in range(shape.n_learners):
            raw[j] += combination[(1 + t) * n_outputs + j] * outputs[t, j]


@njit(cache=True, error_model="numpy")
def _linear_stages(label, shape, combination, outputs, outputs_gradient, gradient):
    n_outputs, n_learners = shape.n_outputs, shape.n_learners
    raw, slope = combination[:n_outputs].copy(), np.empty(n_outputs)
    if shape.update == FULL:
        _linear_raw(outputs, combination, shape, raw)
        _fill_log_slope(raw, label, slope)
        gradient[:n_outputs] = slope
    else:
        _fill_log_slope(raw, label, slope)
    for t in range(n_learners):
        for j in range(n_outputs):
            outputs_gradient[t, j] = 2.0 * (outputs[t, j] + slope[j])
        if shape.update != FULL:
            for j in range(n_outputs):
                raw[j] += combination[(1 + t) * n_outputs + j] * outputs[t, j]
            _fill_log_slope(raw, label, slope)
            for j in range(n_outputs):
                gradient[j] += slope[j] / n_learners
        for j in range(n_outputs):
            place = (1 + t) * n_outputs + j
            gradient[place] = slope[j] * outputs[t, j]
            if shape.update != RESIDUAL:
                outputs_gradient[t, j] = slope[j] * combination[place]


# Boost by majority: every learner has one vote; no combination


@njit(cache=True, error_model="numpy")
def _majority_raw(outputs):
    """Return the balance of votes; in a tie, the mean output decides."""
    votes, total = 0.0, 0.0
    for t in range(outputs.shape[0]):
        votes += _vote(outputs[t, 0])
        total += outputs[t, 0]
    return votes + math.tanh(total / outputs.shape[0]) / 2.0


@njit(cache=True, error_model="numpy")
def _majority_stages(label, shape, outputs, outputs_gradient):
    n_learners = shape.n_learners
    side, ahead = 2.0 * label - 1.0, 0.0
    for t in range(n_learners):
        weight = _majority_weight(n_learners - t - 1, ahead, shape.edge)
        outputs_gradient[t, 0] = weight * _log_slope(outputs[t, 0], label)
        ahead += side * _vote(outputs[t, 0])


@njit(cache=True, error_model="numpy")
def _majority_weight(n_left, ahead, edge):
    """Return how likely the remaining votes are to leave the outcome to this one; at most 1."""
    p = 0.5 + edge / 2.0
    right = math.floor((n_left - ahead + 1.0) / 2.0)
    if right < 0.0 or right > n_left:
        return 0.0
    likeliest = min(math.floor((n_left + 1.0) * p), float(n_left))
    return math.exp(_log_binomial(n_left, right, p) - _log_binomial(n_left, likeliest, p))


@njit(cache=True, error_model="numpy")
def _log_binomial(n, k, p):
    ways = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
    return ways + k * math.log(p) + (n - k) * math.log(1.0 - p)


@njit(cache=True, error_model="numpy")
def _vote(output):
    """Return 1 or -1, or 0 for a learner whose output is 0 or that is left out."""
    if output > 0.0:
        return 1.0
    return -1.0 if output < 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def _log_slope(raw, label):
    return 1.0 / (1.0 + math.exp(-raw)) - label


# AdaBoost: votes weighted by alpha; combination = [alpha: learner | log of trust: learner]


@njit(cache=True, error_model="numpy")
def _importance_raw(outputs, combination):
    raw = 0.0
    for t in range(outputs.shape[0]):
        raw += combination[t] * _vote(outputs[t, 0])
    return raw


@njit(cache=True, error_model="numpy")
def _adaptive_raw(outputs, combination):
    """Return the mean of the sums of the first t votes, each trusted by its mistakes so far."""
    n_learners = outputs.shape[0]
    raw, trusted, total = 0.0, 0.0, 0.0
    for t in range(n_learners):
        raw += combination[t] * _vote(outputs[t, 0])
        trust = math.exp(combination[n_learners + t])
        trusted += trust * raw
        total += trust
    return trusted / total


@njit(cache=True, error_model="numpy")
def _adaptive_stages(label, weight, shape, combination, seen, outputs, outputs_gradient):
    """Weight each learner's row by how wrong the votes before it are; update alpha and trust."""
    n_learners, side = shape.n_learners, 2.0 * label - 1.0
    n_rows = seen.rows.sum()
    pace, ahead, best = 4.0 * weight / math.sqrt(n_rows), 0.0, -np.inf
    for t in range(n_learners):
        share = 1.0 / (1.0 + math.exp(ahead))
        if shape.rule == ADAPTIVE:
            share = 1.0 if _uniform(shape.seed, n_rows, t) < share else 0.0
        outputs_gradient[t, 0] = share * _log_slope(outputs[t, 0], label)
        right = side * _vote(outputs[t, 0])
        ahead += combination[t] * right
        moved = combination[t] + pace * right / (1.0 + math.exp(ahead))
        combination[t] = min(max(moved, -_LARGEST_ALPHA), _LARGEST_ALPHA)
        if ahead <= 0.0:
            combination[n_learners + t] -= weight
        best = max(best, combination[n_learners + t])
    combination[n_learners:] -= best


@njit(cache=True)
def _uniform(seed, n_rows, t):
    """Return a number in [0, 1) determined by the arguments: the mixing steps of SplitMix64."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(n_rows)
    z = z * np.uint64(0xD1342543DE82EF95) + np.uint64(t + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


# Gradient boosting: F_t = (1 - step s_t) F_(t-1) + step h_t; combination = [s: learner]
# StreamBoost is the same with no combination: every s is 0


@njit(cache=True, error_model="numpy")
def _gradient_raw(outputs, combination, shape):
    raw = 0.0
    for t in range(outputs.shape[0]):
        shrinkage = combination[t] if shape.rule == GRADIENT else 0.0
        raw = (1.0 - shape.step * shrinkage) * raw + shape.step * outputs[t, 0]
    return raw


@njit(cache=True, error_model="numpy")
def _gradient_stages(label, weight, shape, combination, seen, outputs, outputs_gradient):
    pace, raw = weight / math.sqrt(seen.rows.sum()), 0.0
    for t in range(shape.n_learners):
        slope = _log_slope(raw, label)
        outputs_gradient[t, 0] = 2.0 * (outputs[t, 0] + slope)
        shrinkage = 0.0
        if shape.rule == GRADIENT:
            shrinkage = combination[t]
            combination[t] = min(max(shrinkage + pace * slope * raw, 0.0), 1.0)
        raw = (1.0 - shape.step * shrinkage) * raw + shape.step * outputs[t, 0]
