"""Writes kmeans.json: the inertia of scikit-learn's best of 10 runs of k-means on the
standardized inputs of three tables. Run it beside the shared data:

    python make_kmeans.py ../../../shared/data > kmeans.json
"""
import gzip
import json
import sys

import numpy as np
import sklearn
from sklearn.cluster import KMeans

out = {"scikit_learn": sklearn.__version__, "numpy": np.__version__, "tables": []}
for name, clusters in [("concrete", 7), ("airfoil", 10), ("energy", 6)]:
    with gzip.open(f"{sys.argv[1]}/{name}/data.csv.gz", "rt") as f:
        x = np.loadtxt(f, delimiter=",")[:, :-1]
    x = (x - x.mean(0)) / x.std(0)
    best = KMeans(clusters, n_init=10, max_iter=1000, tol=0, random_state=0).fit(x)
    out["tables"].append({"name": name, "clusters": clusters, "inertia": float(best.inertia_)})
json.dump(out, sys.stdout, indent=1)
print()
