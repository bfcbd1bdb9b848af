# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
"""The arithmetic of one row of the Gray loss, as functions that the Triton kernels of kernels.py call.

Notation as in reference.py, one row at a time: Q = softmax(z), m the largest logit, m2 the second largest
(m2 = m where two classes tie), y the label, C the confidence, x_k = Q_k. Two ways through a row:

series   no class has Q > 1/16 (1/32 in the half types). Then -log(1 - x) and x / (1 - x) are short power
         series in x, so six (four) sums of powers of e = exp(z - m) give the loss, and the gradient is a
         polynomial in e: no logarithm and no division per element. The half types need half the bytes, so
         it takes the shorter series to stay bound by memory there.
exact    any row. The largest class, if it is one, is left out of every sum and gets its own
         1 - Q = sum of the others, so nothing cancels and nothing overflows; all other x are <= 1/2.
"""

import triton
import triton.language as tl

# How `confidence` is found; the strings of gray_loss map to these.
MAX, LABEL, GIVEN = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
# Sum of exp(z - m) from which the series holds, by its number of terms: what is left out is at most
# (1/16)^5 = 1e-6 of a gradient and (1/16)^6 = 6e-8 of a loss with six, 3e-5 and 2e-7 with four.
SERIES_FROM_6 = tl.constexpr(16.0)
SERIES_FROM_4 = tl.constexpr(32.0)


@triton.jit
def minus_log1m(x):
    """-log(1 - x) for 0 <= x <= 1/2: a degree 9 Chebyshev fit of -log(1 - x) / x, relative error 4e-9."""
    p = 1.7336119416751055 * x - 2.4589618644883524
    p = p * x + 1.9598705591708114
    p = p * x - 0.5900886953161766
    p = p * x + 0.3407464690042016
    p = p * x + 0.17544077312792983
    p = p * x + 0.2519567942093966
    p = p * x + 0.33325516200473815
    p = p * x + 0.5000011985840265
    p = p * x + 0.9999999969965206
    return p * x


@triton.jit
def log1p(s):
    """log(1 + s) for s >= 0 to float32 precision, also where s is tiny: 2 atanh(s / (2 + s))."""
    t = s / (2.0 + s)
    u = t * t
    series = 2.0 * t * (1.0 + u * (1.0 / 3 + u * (1.0 / 5 + u * (1.0 / 7 + u * (1.0 / 9 + u / 11)))))
    return tl.where(s < 0.5, series, tl.log(1.0 + s))


@triton.jit
def _mix(C, keep, given, rejected):
    """C * given + keep * rejected, where a weight of zero beats an infinite loss."""
    return tl.where(C == 0.0, 0.0, C * given) + tl.where(keep == 0.0, 0.0, keep * rejected)


@triton.jit
def row_scale(scale, norm, weight, row_grad, rows, y, ok, valid, WEIGHT: tl.constexpr, NORM: tl.constexpr,
               ROW_GRAD: tl.constexpr):  # fmt: skip
    """What each row is multiplied by: weight of its class, the mean's divisor, what backward was given."""
    factor = tl.where(ok, scale, float("nan"))
    if NORM:
        factor *= tl.load(norm)
    if WEIGHT:
        factor *= tl.load(weight + y, mask=valid, other=0.0).to(tl.float32)
    if ROW_GRAD:
        factor *= tl.load(row_grad + rows, mask=valid, other=0.0).to(tl.float32)
    return tl.where(valid, factor, 0.0)


@triton.jit
def given_confidence(confidence, rows, valid, MODE: tl.constexpr):
    """The caller's confidence, NaN where it is outside [0, 1]; unused otherwise."""
    C = tl.where(valid, 0.0, 0.0)
    if MODE == GIVEN:
        C = tl.load(confidence + rows, mask=valid, other=0.0).to(tl.float32)
        C = tl.where((C >= 0.0) & (C <= 1.0), C, float("nan"))
    return C


@triton.jit
def series_row(m, z_y, s1, s2, s3, s4, s5, s6, given, MODE: tl.constexpr, TERMS: tl.constexpr):
    """Loss of a row from its power sums; 1 / S; both factors of the gradient; the gradient at the label.

    The gradient elsewhere is e * (first + keep * inv * (x + x^2 + ...)).
    """
    inv = 1.0 / s1
    p2 = s2 * inv * inv
    p3 = s3 * inv * inv * inv
    p4 = s4 * (inv * inv) * (inv * inv)
    logs = p2 / 2 + p3 / 3 + p4 / 4
    odds = p2 + p3 + p4
    if TERMS == 6:
        p5 = s5 * (inv * inv) * (inv * inv) * inv
        p6 = s6 * (inv * inv) * (inv * inv) * (inv * inv)
        logs += p5 / 5 + p6 / 6
        odds += p5 + p6
    x_y = tl.exp(z_y - m) * inv
    # These leave the label out by taking its term off the sum: no cancellation, the largest class stays in.
    rejected = 1.0 + logs - minus_log1m(x_y)
    odds = 1.0 + odds - x_y / (1.0 - x_y)
    C = inv
    if MODE == LABEL:
        C = x_y
    if MODE == GIVEN:
        C = given
    keep = 1.0 - C
    loss = _mix(C, keep, tl.log(s1) + (m - z_y), rejected)
    first = inv * (C - keep * odds + keep)
    at_label = C * (x_y - 1.0) - keep * x_y * odds
    return loss, inv, first, keep, at_label


@triton.jit
def series_gradient(e, inv, first, keep, TERMS: tl.constexpr):
    """Gradient of every class but the label from e = exp(z - m)."""
    b1 = keep * inv * inv
    b2 = b1 * inv
    b3 = b2 * inv
    g = b3
    if TERMS == 6:
        b4 = b3 * inv
        b5 = b4 * inv
        g = b3 + e * (b4 + e * b5)
    return e * (first + e * (b1 + e * (b2 + e * g)))


@triton.jit
def exact_head(m, m2):
    """Shift for the others' exponentials, whether one class leads, log and value of exp(m2 - m)."""
    shift = tl.where(m2 == float("-inf"), 0.0, m2)
    gap = (m2 - m) + (m - m)  # m - m: an infinite logit is a NaN loss, as in cross_entropy
    return shift, m > m2, gap, tl.exp(gap)


@triton.jit
def exact_row(m, m2, gap, down, leads, total, T, logs, odds_sum, z_y, given, MODE: tl.constexpr):
    """Loss of a row; factors of w and of e in the gradient; the gradient at the leader and at the label.

    T, logs and odds_sum are sums over all but the leader of e = exp(z - m2), -log(1 - x) and e / (1 - x),
    with x = e * c and c = down / total; total is the sum of exp(z - m).
    """
    inv = 1.0 / total
    c = down * inv
    lead = tl.where(leads, inv, 0.0)  # probability of the leading class
    others = down * T * inv  # its 1 - Q
    y_leads = z_y > m2
    rival = leads & (z_y <= m2)  # the leader is among the rejected
    shift = tl.where(m2 == float("-inf"), 0.0, m2)
    e_y = tl.where(y_leads, 0.0, tl.exp(z_y - shift))
    x_y = e_y * c
    odds = c * odds_sum - x_y / (1.0 - x_y)
    log_total = tl.where(leads, log1p(down * T), tl.log(total))
    rejected = logs - minus_log1m(x_y) - tl.where(rival, gap + tl.log(T) - log_total, 0.0)
    C = inv
    keep = tl.where(leads, others, 1.0 - inv)
    if MODE == LABEL:
        C = tl.where(y_leads, lead, x_y)
        keep = tl.where(y_leads, others, 1.0 - x_y)
    if MODE == GIVEN:
        C = given
        keep = 1.0 - given
    loss = _mix(C, keep, log_total + (m - z_y), rejected)
    # The rejected leader takes keep * lead * e / T off every other class.
    pull = tl.where(rival & (T > 0.0), keep * lead / T, 0.0)
    of_e = c * (C - keep * odds) - pull
    if MODE == MAX:  # here pull = c * C exactly
        of_e = c * tl.where(rival, 0.0 - keep * odds, C - keep * odds)
    of_w = keep * c
    at_leader = tl.where(y_leads, 0.0 - C * others - keep * lead * odds, lead * (C + keep * (1.0 - odds)))
    at_label = tl.where(y_leads, at_leader, C * (x_y - 1.0) - keep * x_y * odds - pull * e_y)
    return loss, of_w, of_e, at_leader, at_label
