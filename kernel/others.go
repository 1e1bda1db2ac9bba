package kernel

import "gpfit/internal/suggest"

// others are the names of kernels in other programs.
var others = suggest.Others{
	"rbf":      "se sqexp squaredexp squaredexponential expquad exponentiatedquadratic gauss gaussian radialbasis radialbasisfunction",
	"rbf(ard)": "rbfard seard seiso", "matern12": "exponential exp ou ornsteinuhlenbeck absoluteexponential laplacian laplace matern1",
	"matern32": "matern3 mat32", "matern52": "matern5 mat52", "rq": "rationalquadratic rationalquad ratquad",
	"periodic": "expsinesquared stdperiodic locallyperiodic seasonal seasonality", "poly(2)": "polynomial quadratic", "linear": "dotproduct",
	"constant": "bias const constant", "hamming": "categorical overlap index", "arcsine": "neuralnetwork nn arccos arccosine mlp",
	"wendland(1)": "piecewisepolynomial compact", "additive(rbf)": "additivestructure",
	"formula(exp(-r^p/a), a=1, p=1.5)":                                      "powexp powerexponential gammaexponential",
	"-gpfit estimates the noise by itself; option noise none leaves it out": "white whitenoise nugget noise eye delta",
	"-every term has a signal_variance by itself: leave it out":             "scale",
	"-a random walk is close to matern12 with a long lengthscale":           "brownian wiener randomwalk brownianmotion",
	"-a spectral mixture is a sum such as rbf*cosine + rbf*cosine":          "spectralmixture sm gibbsmixture",
}
