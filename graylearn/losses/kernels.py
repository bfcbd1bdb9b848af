# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
"""Triton kernels of the Gray loss: the logits are read once and the gradient is written once.

`small_rows` holds a tile of whole rows in registers and takes the exact way; `large_row` takes one row per
program, in registers if it fits and in blocks otherwise. A row whose label is no class turns NaN, loss and
gradient: raising from a kernel would need a synchronisation, and a NaN is not overlooked.

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


# What gpu.start relies on: a compiled kernel does not depend on these.
_NUMBERS = ["num_rows", "inner", "ignore_index", "scale"]
_POINTERS = ["target", "confidence", "weight", "norm", "row_grad", "loss_out", "total"]
SUM_BLOCK = tl.constexpr(1024)  # partial sums the last program reads at a time


@triton.jit
def _small_exact(z, m, z_y, cols, y, factor, given, MODE: tl.constexpr):
    is_max = z == m[:, None]
    ties = tl.sum(is_max.to(tl.int32), 1)
    m2 = tl.where(ties > 1, m, tl.max(tl.where(is_max, float("-inf"), z), 1))
    shift, leads, gap, down = exact_head(m, m2)
    is_leader = z > m2[:, None]
    e = tl.where(is_leader, 0.0, tl.exp(z - shift[:, None]))
    T = tl.sum(e, 1)
    total = tl.where(leads, 1.0, 0.0) + down * T
    x = e * (down / total)[:, None]
    logs = tl.sum(minus_log1m(x), 1)
    w = e / (1.0 - x)
    odds_sum = tl.sum(w, 1)
    loss, of_w, of_e, at_leader, at_label = exact_row(
        m, m2, gap, down, leads, total, T, logs, odds_sum, z_y, given, MODE
    )
    g = w * (of_w * factor)[:, None] + e * (of_e * factor)[:, None]
    g = tl.where(is_leader, (at_leader * factor)[:, None], g)
    return loss, tl.where(cols[None, :] == y[:, None], (at_label * factor)[:, None], g)


@triton.jit
def _finish(partial, norm, total, num_rows, loss, count, MEAN: tl.constexpr, NORM: tl.constexpr):
    """Add this program's loss and count of rows to `partial`; the last program to come sums them all.

    The sum runs in a fixed order, so it is the same each time. `partial` holds losses, counts, the correction
    that backward applies, and the number of programs done, which starts at zero. MEAN without NORM: the
    gradient was divided by num_rows before anyone knew how many rows are ignored, so the correction is
    num_rows / valid rows.
    """
    programs = tl.num_programs(0)
    tl.store(partial + tl.program_id(0), loss)
    tl.store(partial + programs + tl.program_id(0), count)
    tl.debug_barrier()
    before = tl.atomic_add(partial + 2 * programs + 1, 1.0, sem="acq_rel")
    if before == programs - 1:
        losses = tl.zeros([SUM_BLOCK], tl.float32)
        counts = tl.zeros([SUM_BLOCK], tl.float32)
        for start in range(0, programs, SUM_BLOCK):
            at = start + tl.arange(0, SUM_BLOCK)
            losses += tl.load(partial + at, mask=at < programs, other=0.0, cache_modifier=".cg")
            counts += tl.load(partial + programs + at, mask=at < programs, other=0.0, cache_modifier=".cg")
        result = tl.sum(losses, 0)
        correction = 1.0
        if MEAN:
            if NORM:
                result *= tl.load(norm)
            else:
                valid = tl.sum(counts, 0)
                result /= valid
                correction = tl.where(valid > 0.0, num_rows / valid, 1.0)
        tl.store(total, result)
        tl.store(partial + 2 * programs, correction)


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=_POINTERS)
def small_rows(logits, target, confidence, weight, norm, row_grad, loss_out, grad_out, total, num_rows,
               inner, ignore_index, scale, K: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
               MODE: tl.constexpr, WEIGHT: tl.constexpr, NORM: tl.constexpr, ROW_GRAD: tl.constexpr,
               LOSS: tl.constexpr, GRAD: tl.constexpr, PARTIAL: tl.constexpr, MEAN: tl.constexpr,
               INNER: tl.constexpr):  # fmt: skip
    """A tile of ROWS whole rows. PARTIAL: their sum goes to `total` by way of `loss_out`.

    INNER: class k of row i lies at (i // inner, k, i % inner) of a contiguous (N, K, inner) tensor.
    """
    program = tl.program_id(0)
    rows = program.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    y = tl.load(target + rows, mask=rows < num_rows, other=ignore_index)
    valid = (y != ignore_index) & (rows < num_rows)
    ok = (y >= 0) & (y < K)
    y = tl.where(valid & ok, y, 0)
    if INNER:
        base = (rows // inner) * K * inner + rows % inner
        at = base[:, None] + cols[None, :] * inner
        at_y = base + y * inner
    else:
        at = rows[:, None] * K + cols[None, :]
        at_y = rows * K + y
    inside = (rows < num_rows)[:, None] & (cols < K)[None, :]
    z = tl.load(logits + at, mask=inside & valid[:, None], other=float("-inf")).to(tl.float32)
    z_y = tl.load(logits + at_y, mask=valid, other=0.0).to(tl.float32)
    m = tl.where(valid, tl.max(z, 1), 0.0)
    factor = row_scale(scale, norm, weight, row_grad, rows, y, ok, valid, WEIGHT, NORM, ROW_GRAD)
    given = given_confidence(confidence, rows, valid, MODE)
    loss, g = _small_exact(z, m, z_y, cols, y, factor, given, MODE)
    if GRAD:
        tl.store(grad_out + at, g, mask=inside, eviction_policy="evict_first")
    if LOSS:
        if PARTIAL:  # the mean's divisor is applied where the partial sums meet
            if WEIGHT:
                loss *= tl.load(weight + y, mask=valid, other=0.0).to(tl.float32)
            loss = tl.where(valid, tl.where(ok, loss, float("nan")), 0.0)
            count = tl.sum(valid.to(tl.float32), 0)
            _finish(loss_out, norm, total, num_rows, tl.sum(loss, 0), count, MEAN, NORM)
        else:
            tl.store(loss_out + rows, tl.where(valid, loss * factor, 0.0), mask=rows < num_rows)


@triton.jit
def _add4(a1, a2, a3, a4, b1, b2, b3, b4):
    return a1 + b1, a2 + b2, a3 + b3, a4 + b4


@triton.jit
def _add6(a1, a2, a3, a4, a5, a6, b1, b2, b3, b4, b5, b6):
    return a1 + b1, a2 + b2, a3 + b3, a4 + b4, a5 + b5, a6 + b6


@triton.jit
def _power_sums(e, JOINT: tl.constexpr, TERMS: tl.constexpr):
    """Sums of e to the powers 1 to TERMS; JOINT does all of them in one reduction, so with one barrier."""
    e2 = e * e
    e3 = e2 * e
    s5 = 0.0
    s6 = 0.0
    if JOINT:
        if TERMS == 6:
            s1, s2, s3, s4, s5, s6 = tl.reduce((e, e2, e3, e2 * e2, e2 * e3, e3 * e3), 0, _add6)
        else:
            s1, s2, s3, s4 = tl.reduce((e, e2, e3, e2 * e2), 0, _add4)
    else:
        s1 = tl.sum(e, 0)
        s2 = tl.sum(e2, 0)
        s3 = tl.sum(e3, 0)
        s4 = tl.sum(e2 * e2, 0)
        if TERMS == 6:
            s5 = tl.sum(e2 * e3, 0)
            s6 = tl.sum(e3 * e3, 0)
    return s1, s2, s3, s4, s5, s6


@triton.jit
def _load(logits, base, at, K: tl.constexpr, EVEN: tl.constexpr, EVICT: tl.constexpr):
    """Logits of one row as float32; EVEN blocks need no mask, which is an instruction or two per logit."""
    if EVEN:
        z = tl.load(logits + base + at, eviction_policy=EVICT)
    else:
        z = tl.load(logits + base + at, mask=at < K, other=float("-inf"), eviction_policy=EVICT)
    return z.to(tl.float32)


@triton.jit
def _store(grad_out, base, at, g, K: tl.constexpr, EVEN: tl.constexpr):
    if EVEN:
        tl.store(grad_out + base + at, g, eviction_policy="evict_first")
    else:
        tl.store(grad_out + base + at, g, mask=at < K, eviction_policy="evict_first")


@triton.jit
def _large_exact(logits, grad_out, base, z_y, y, m, s1, factor, given, K: tl.constexpr, CHUNK: tl.constexpr,
                 MODE: tl.constexpr, GRAD: tl.constexpr):  # fmt: skip
    """One row by the exact way, in chunks that mostly come from the caches: three more passes."""
    cols = tl.arange(0, CHUNK)
    second = tl.full([CHUNK], float("-inf"), tl.float32)
    ties = tl.zeros([CHUNK], tl.int32)
    for start in range(0, K, CHUNK):
        z = tl.load(logits + base + start + cols, mask=start + cols < K, other=float("-inf")).to(tl.float32)
        second = tl.maximum(second, tl.where(z == m, float("-inf"), z))
        ties += (z == m).to(tl.int32)
    m2 = tl.where(tl.sum(ties, 0) > 1, m, tl.max(second, 0))
    shift, leads, gap, down = exact_head(m, m2)
    c = down / s1
    T_sum = tl.zeros([CHUNK], tl.float32)
    log_sum = tl.zeros([CHUNK], tl.float32)
    odds_sum = tl.zeros([CHUNK], tl.float32)
    for start in range(0, K, CHUNK):
        z = tl.load(logits + base + start + cols, mask=start + cols < K, other=float("-inf")).to(tl.float32)
        e = tl.where(z > m2, 0.0, tl.exp(z - shift))
        x = e * c
        T_sum += e
        log_sum += minus_log1m(x)
        odds_sum += e / (1.0 - x)
    loss, of_w, of_e, at_leader, at_label = exact_row(
        m,
        m2,
        gap,
        down,
        leads,
        s1,
        tl.sum(T_sum, 0),
        tl.sum(log_sum, 0),
        tl.sum(odds_sum, 0),
        z_y,
        given,
        MODE,
    )
    if GRAD:
        for start in range(0, K, CHUNK):
            at = start + cols
            z = tl.load(logits + base + at, mask=at < K, other=float("-inf")).to(tl.float32)
            e = tl.where(z > m2, 0.0, tl.exp(z - shift))
            g = (e / (1.0 - e * c)) * (of_w * factor) + e * (of_e * factor)
            g = tl.where(z > m2, at_leader * factor, g)
            g = tl.where(at == y, at_label * factor, g)
            tl.store(grad_out + base + at, g, mask=at < K, eviction_policy="evict_first")
    return loss


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=_POINTERS)
def large_row(logits, target, confidence, weight, norm, row_grad, loss_out, grad_out, total, num_rows,
              ignore_index, scale, K: tl.constexpr, BLOCK: tl.constexpr, CHUNK: tl.constexpr,
              MODE: tl.constexpr, WEIGHT: tl.constexpr, NORM: tl.constexpr, ROW_GRAD: tl.constexpr,
              LOSS: tl.constexpr, GRAD: tl.constexpr, PARTIAL: tl.constexpr, MEAN: tl.constexpr,
              JOINT: tl.constexpr, TERMS: tl.constexpr):  # fmt: skip
    """One row per program. A row of at most BLOCK classes stays in registers; a longer one is read in blocks
    with a running maximum, then once more from its end, where the caches still hold it.
    """
    EVEN: tl.constexpr = K % BLOCK == 0
    row = tl.program_id(0).to(tl.int64)
    base = row * K
    cols = tl.arange(0, BLOCK)
    y = tl.load(target + row)
    valid = y != ignore_index
    loss = 0.0
    if valid:
        ok = (y >= 0) & (y < K)
        y = tl.where(ok, y, 0)
        z_y = tl.load(logits + base + y).to(tl.float32)
        factor = row_scale(scale, norm, weight, row_grad, row, y, ok, valid, WEIGHT, NORM, ROW_GRAD)
        given = given_confidence(confidence, row, valid, MODE)
        if K <= BLOCK:
            z = _load(logits, base, cols, K, EVEN, "evict_first")
            m = tl.max(z, 0)
            e = tl.exp(z - m)
            s1, s2, s3, s4, s5, s6 = _power_sums(e, JOINT, TERMS)
        else:
            m = float("-inf")
            s1, s2, s3, s4, s5, s6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for start in range(0, K, BLOCK):
                z = _load(logits, base, start + cols, K, EVEN, "evict_last")
                highest = tl.maximum(m, tl.max(z, 0))
                zero = tl.where(highest == float("-inf"), 0.0, highest)
                down = tl.exp(m - zero)
                t1, t2, t3, t4, t5, t6 = _power_sums(tl.exp(z - zero), JOINT, TERMS)
                s1 = s1 * down + t1
                s2 = s2 * down * down + t2
                s3 = s3 * down * down * down + t3
                s4 = s4 * (down * down) * (down * down) + t4
                if TERMS == 6:
                    s5 = s5 * (down * down) * (down * down) * down + t5
                    s6 = s6 * (down * down) * (down * down) * (down * down) + t6
                m = highest
        if s1 >= (SERIES_FROM_6 if TERMS == 6 else SERIES_FROM_4):
            loss, inv, first, keep, at_label = series_row(m, z_y, s1, s2, s3, s4, s5, s6, given, MODE, TERMS)
            if GRAD:
                first *= factor
                keep *= factor
                if K <= BLOCK:
                    _store(grad_out, base, cols, series_gradient(e, inv, first, keep, TERMS), K, EVEN)
                else:
                    for step in range(0, tl.cdiv(K, BLOCK)):
                        at = (tl.cdiv(K, BLOCK) - 1 - step) * BLOCK + cols
                        z = _load(logits, base, at, K, EVEN, "evict_first")
                        g = series_gradient(tl.exp(z - m), inv, first, keep, TERMS)
                        _store(grad_out, base, at, g, K, EVEN)
                # The label afterwards, by one store, instead of a comparison for every class.
                tl.debug_barrier()
                tl.store(grad_out + base + y, at_label * factor)
        else:
            loss = _large_exact(logits, grad_out, base, z_y, y, m, s1, factor, given, K, CHUNK, MODE, GRAD)
        if PARTIAL:
            loss = tl.where(ok, loss, float("nan"))
            if WEIGHT:
                loss *= tl.load(weight + y).to(tl.float32)
        else:
            loss *= factor
    else:
        if GRAD:
            zeros = tl.zeros([BLOCK], tl.float32)
            for start in range(0, K, BLOCK):
                tl.store(grad_out + base + start + cols, zeros, mask=start + cols < K)
    if LOSS:
        if PARTIAL:
            _finish(loss_out, norm, total, num_rows, loss, valid.to(tl.float32), MEAN, NORM)
        else:
            tl.store(loss_out + row, loss)


@triton.jit(do_not_specialize=_NUMBERS)
def count_valid(target, norm, num_rows, ignore_index, BLOCK: tl.constexpr):
    """norm = 1 / number of rows whose target is not ignore_index; one program, for few rows."""
    count = tl.zeros([BLOCK], tl.int32)
    for start in range(0, num_rows, BLOCK):
        at = start + tl.arange(0, BLOCK)
        y = tl.load(target + at, mask=at < num_rows, other=ignore_index)
        count += (y != ignore_index).to(tl.int32)
    tl.store(norm, 1.0 / tl.sum(count, 0).to(tl.float32))


@triton.jit(do_not_specialize=["offset", "num_values"])
def scale_in_place(grad, factor, partial, offset, num_values, BLOCK: tl.constexpr):
    """Multiply `grad` by factor * partial[offset], two values on the device, unless that is one."""
    by = tl.load(factor).to(tl.float32) * tl.load(partial + offset)
    if by != 1.0:
        first = tl.program_id(0).to(tl.int64) * BLOCK
        for start in range(first, num_values, tl.num_programs(0) * BLOCK):
            at = start + tl.arange(0, BLOCK)
            g = tl.load(grad + at, mask=at < num_values).to(tl.float32)
            tl.store(grad + at, g * by, mask=at < num_values)
