"""mentornet-pd: the moving percentile, by hand."""

import numpy as np
import torch
from hand_made import logits_with_loss, make_step, make_task

from graylearn.methods import make_method

LABELS = torch.zeros(5, dtype=torch.int64)


def test_burn_in_then_at_most_the_moving_percentile():
    method = make_method("mentornet-pd", percentile=0.5, decay=0.75, burn_in=0.2)
    method.start(make_task(LABELS, 2, epochs=10))

    def loss_at(epoch, losses):
        return method.loss(make_step(logits_with_loss(losses), LABELS, epoch=epoch)).numpy()

    losses = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(loss_at(0, losses), losses)  # burn-in; the average begins at the median 3
    np.testing.assert_allclose(loss_at(1, losses + 4), losses + 4)  # .75 x 3 + .25 x 7 = 4
    # .75 x 4 + .25 x 3 = 3.75 admits 1, 2, 3; the mean stays over all five
    np.testing.assert_allclose(loss_at(2, losses), [1, 2, 3, 0, 0], rtol=1e-6)
    # .75 x 3.75 + .25 x 8 = 4.8125 admits nobody
    assert loss_at(3, losses + 5).tolist() == [0] * 5
    np.testing.assert_allclose(method.moving.item(), 4.8125)


def test_nan_is_not_hidden():
    method = make_method("mentornet-pd", burn_in=0.0)
    method.start(make_task(LABELS[:2], 2))
    loss = method.loss(make_step(torch.tensor([[0.0, 0.0], [float("nan"), 0.0]]), LABELS[:2]))
    assert loss.isnan().any()
