package kernel

import "gpfit/internal/suggest"

// others are the names of kernels in other programs.
var others = suggest.Others{
	"rbf":      "se sqexp squaredexp squaredexponential expquad exponentiatedquadratic gauss gaussian radialbasis radialbasisfunction rbf rbfdot",
	"rbf(ard)": "rbfard seard seiso", "matern12": "exponential exp ou ornsteinuhlenbeck absoluteexponential laplacian laplace laplacedot matern1",
	"matern32": "matern3 mat32", "matern52": "matern5 mat52 matern", "rq": "rationalquadratic rationalquad ratquad",
	"periodic": "periodic expsinesquared stdperiodic locallyperiodic seasonal seasonality", "poly(2)": "polynomial quadratic polydot", "linear": "linear dotproduct vanilladot",
	"-a factor is a signal_variance: rbf(signal_variance=2)": "0 1 2 3 4 5 6 7 8 9", "-a power is a product: rbf*rbf": "*", "constant": "bias const constant", "hamming": "categorical overlap index", "arcsine": "neuralnetwork nn arccos arccosine mlp",
	"wendland(1)": "piecewisepolynomial compact", "additive(rbf)": "additivestructure",
	"-a power exponential is formula(exp(-(r/a)^p), a=1, p=1, dims=c) for each column c, with option bounds p=0.01:2":       "powexp powerexponential gammaexponential",
	"-the ANOVA kernel is additive(rbf) for degree 1; for others, a product such as additive(rbf)*additive(rbf) is near":    "anova anovadot",
	"-a hyperbolic tangent is no covariance function; the nearest is arcsine":                                               "tanh tanhdot sigmoid",
	"-there is no Bessel kernel; the nearest is rbf":                                                                        "bessel besseldot",
	"-a cubic spline is close to linear + matern32 with a long lengthscale":                                                 "spline splinedot cubic cubicspline",
	"-a change point is a formula with sigmoid, which the page on kernels has as a recipe; the nearest without is matern12": "changepoint changepoints",
	"-gpfit estimates the noise by itself; option noise none leaves it out":                                                 "white whitenoise nugget noise eye delta",
	"-every term has a signal_variance by itself: leave it out":                                                             "scale",
	"-a random walk is close to matern12 with a long lengthscale":                                                           "brownian wiener randomwalk brownianmotion",
	"-a spectral mixture is a sum such as rbf*cosine + rbf*cosine":                                                          "spectralmixture sm gibbsmixture",
}
