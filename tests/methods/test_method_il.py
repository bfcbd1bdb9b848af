"""Iterative learning: outlier factors, rounds, weights and pairs against loops in numpy."""

import numpy as np
import torch
from hand_made import make_step, make_task, softmax

from graylearn.methods import make_method
from graylearn.methods.reweighting import contrastive_loss


def local_outlier_factor(features, neighbours):
    """Breunig et al.'s definition with cosine distance, in loops."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :neighbours]
    N = len(features)
    reach_of = [distance[i, nearest[i, -1]] for i in range(N)]
    density = np.empty(N)
    for i in range(N):
        density[i] = 1 / np.mean([max(reach_of[j], distance[i, j]) for j in nearest[i]])
    return np.array([np.mean([density[j] for j in nearest[i]]) / density[i] for i in range(N)])


def two_classes_with_strangers(numbers, size=30, strangers=3):
    """Features of two classes, the first few of each drawn from elsewhere."""
    features, target, strange = [], [], []
    for label in range(2):
        centre = np.eye(5)[label] * 6
        inside = centre + numbers.normal(size=(size - strangers, 5))
        outside = np.eye(5)[4] * -6 + numbers.normal(size=(strangers, 5)) * 2
        features += [outside, inside]
        target += [label] * size
        strange += [True] * strangers + [False] * (size - strangers)
    return np.concatenate(features).astype(np.float32), np.array(target), np.array(strange)


def test_pairs_are_pulled_and_pushed_as_the_method_says():
    numbers = np.random.default_rng(5)
    features = numbers.normal(size=(9, 4))
    target = numbers.integers(0, 3, 9)
    suspected = np.array([False, True, False, False, True, False, False, True, False])
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    total, pairs = 0.0, 0
    for i in range(9):
        for j in range(9):
            if i == j or (suspected[i] and suspected[j]):
                continue
            d = np.linalg.norm(unit[i] - unit[j])
            together = target[i] == target[j] and not suspected[i] and not suspected[j]
            total += d**2 if together else max(1 - d, 0) ** 2
            pairs += 1
    loss = contrastive_loss(torch.tensor(features), torch.tensor(target), torch.tensor(suspected), 1.0)
    assert loss.shape == (9,)
    np.testing.assert_allclose(loss.mean().item(), total / pairs, rtol=1e-9)


def test_rounds_cumulate_scores_and_only_then_change_the_loss():
    numbers = np.random.default_rng(2)
    features, target, strange = two_classes_with_strangers(numbers)
    logits = numbers.normal(size=(60, 2))
    cross_entropy = -np.log(softmax(logits))[np.arange(60), target]
    method = make_method("il", first=2, every=3, contrast=0.0)
    method.start(make_task(target, 2, epochs=9))
    expected_score, held = np.zeros(60), []
    for epoch in range(9):
        now = features + epoch * 0.1
        for index in np.array_split(np.arange(60), 7):
            step = make_step(logits[index], target[index], index=index, epoch=epoch, features=now[index])
            loss = method.loss(step).numpy()
            np.testing.assert_allclose(loss, method.weight.numpy()[index] * cross_entropy[index], rtol=1e-6)
        before = method.rounds
        method.end_epoch(epoch)
        if method.rounds > before:
            held.append(epoch + 1)
            for label in range(2):
                of_class = target == label
                factors = local_outlier_factor(now[of_class].astype(np.float64), 12)
                expected_score[of_class] += np.minimum(factors, 10)
            np.testing.assert_allclose(method.score.numpy(), expected_score, rtol=1e-3)
            assert method.suspected.sum() == 30
            assert method.suspected.numpy()[strange].all()
            assert method.weight.numpy()[strange].max() < 0.8
        assert method.features_seen.numel() == 0  # nothing is kept between rounds
    assert held == [2, 5, 8]
