"""Predictions with 60 digits at the parameters of a report, by mpmath."""

import mpmath as mp

mp.mp.dps = 60


class Unknown(Exception):
    """A family whose formula is not here."""


def correlation(family, square):
    r = mp.sqrt(square)
    match family:
        case "rbf":
            return mp.exp(-square / 2)
        case "matern52":
            s = mp.sqrt(5) * r
            return (1 + s + s * s / 3) * mp.exp(-s)
        case "matern32":
            s = mp.sqrt(3) * r
            return (1 + s) * mp.exp(-s)
        case "matern12":
            return mp.exp(-r)
    raise Unknown(family)


def kernel(report, columns):
    """Returns the covariance of scaled rows: a family, or a sum of families."""
    parameters, parts = report["parameters"], [part.strip() for part in report["kernel"].split("+")]
    terms = []
    for i, part in enumerate(parts):
        prefix = f"k{i + 1}." if len(parts) > 1 else ""
        one = lambda name: mp.mpf(parameters[prefix + name])
        lengths = [one(f"lengthscale[{c}]" if prefix + f"lengthscale[{c}]" in parameters else "lengthscale") for c in columns]
        terms.append((part.split("(")[0], one("signal_variance"), lengths))
    return lambda a, b: sum(v * correlation(f, sum(((s - t) / l) ** 2 for s, t, l in zip(a, b, lengths))) for f, v, lengths in terms)


def predictions(report, x, y, new):
    n, exact = len(x), lambda v: mp.mpf(float(v))
    columns = [c for c in range(x.shape[1]) if x[:, c].std() > 0]

    def scaling(values):
        mean = sum(map(exact, values)) / len(values)
        return mean, mp.sqrt(sum((exact(v) - mean) ** 2 for v in values) / len(values))

    scales = [scaling(x[:, c]) for c in columns]
    centre, unit = scaling(y)
    rows, at = ([[(exact(a[c]) - m) / s for c, (m, s) in zip(columns, scales)] for a in part] for part in (x, new))
    k, noise = kernel(report, columns), mp.mpf(report["parameters"]["noise_variance"])
    sigma = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            sigma[i, j] = k(rows[i], rows[j]) + (noise if i == j else 0)
    basis = (lambda a: [mp.mpf(1), *a]) if report["mean"].startswith("linear") else (lambda a: [mp.mpf(1)])
    h, targets, inverse = mp.matrix([basis(a) for a in rows]), mp.matrix([(exact(v) - centre) / unit for v in y]), sigma**-1
    beta = mp.lu_solve(h.T * inverse * h, h.T * inverse * targets)
    alpha = inverse * (targets - h * beta)
    return [float((sum(b * c for b, c in zip(basis(a), beta)) + sum(k(a, r) * alpha[i] for i, r in enumerate(rows))) * unit + centre) for a in at]
