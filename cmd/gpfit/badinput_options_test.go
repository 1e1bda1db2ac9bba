//go:build linux

package main

import (
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
)

// badExpressions are bad kernels, means and priors.
var badExpressions = slices.Concat(
	badWords("fit t.csv", "--kernel", exit.Usage,
		[2]string{"", "expected a kernel"}, [2]string{"rbf(", "expected an argument of rbf"}, [2]string{"rbf)", "expected '+', '*' or the end"},
		[2]string{"rbf + mattern32", `did you mean "matern32"`}, [2]string{"rbf rbf", "expected '+'"}, [2]string{"rbf(ard, ard)", "given twice"},
		[2]string{"rbf(dims=9)", "9"}, [2]string{"rbf(dims=-1)", "index from 0"}, [2]string{"rbf(dims=[0, 0])", "given twice"},
		[2]string{"rbf(lengthscale=-1)", "a positive number"}, [2]string{"rbf(lengthscale=inf)", "a positive number"}, [2]string{"rbf(lengthscale=nan)", "a positive number"},
		[2]string{"rbf(lengthscale=1e999)", "a positive number"}, [2]string{"rbf(legnthscale=1)", `did you mean "lengthscale"`}, [2]string{"poly(0)", "from 1 to 100"},
		[2]string{"poly(99999999999999999999)", "from 1 to 100"}, [2]string{"poly(1.5)", "from 1 to 100"}, [2]string{"+rbf", "expected a kernel"},
		[2]string{"rbf**rbf", "expected a kernel"}, [2]string{"ядро", `unknown kernel "ядро"`}, [2]string{"\x1b[31mrbf", "expected a kernel"},
		[2]string{strings.Repeat("(", 20_000) + "rbf", "nested parentheses"}, [2]string{strings.Repeat("rbf+", 20_000) + "rbf", "more than 1000 terms"},
		[2]string{strings.Repeat("x", 100_000), "unknown kernel"}, [2]string{"rbf(dims=[0,1,2,3,4,5,6,7,8,9999999999])", "dims"},
	),
	badWords("fit t.csv", "--mean", exit.Usage,
		[2]string{"cubic", `unknown mean function "cubic"`}, [2]string{"poly", "needs a degree"}, [2]string{"poly(1000000)", "from 1 to"},
		[2]string{"bumps(0)", "from 1 to"}, [2]string{"linear(dims=7)", "7"}, [2]string{"zero + linear", "zero cannot be combined"},
		[2]string{"poly(5)", "choose a simpler mean function"}, [2]string{"bumps(50, dims=0)", "bumps"}, [2]string{"linear(", "dims"},
	),
	badWords("fit t.csv", "--prior", exit.Usage,
		[2]string{"noise_variance", "needs NAME=DENSITY"}, [2]string{"noise_variance=norml(0,1)", "unknown density"}, [2]string{"noise_variance=gamma(2)", "is missing"},
		[2]string{"noise_variance=gamma(-1, 2)", "must be positive"}, [2]string{"noise_variance=gamma(nan, 2)", "needs a finite number"},
		[2]string{"noise_variance=lognormal(0, 1, 2)", "too many arguments"}, [2]string{"noise_variance=lognormal(0, 1e-200)", "too large or too small"},
		[2]string{"nose_variance=gamma(2, 1)", `did you mean "noise_variance"`},
	),
)

// badOptions are bad values of flags.
var badOptions = slices.Concat(
	badWords("fit t.csv", "--set", exit.Usage,
		[2]string{"lengthscale", "needs NAME=VALUE"}, [2]string{"lengthscale=x", "is not a number"}, [2]string{"lengthscale=-1", "lengthscale"},
		[2]string{"lengthscale=nan", "lengthscale"}, [2]string{"lengthscale=inf", "lengthscale"}, [2]string{"lenghtscale=1", "did you mean"}, [2]string{"=1", "needs a parameter's name"},
	),
	badWords("fit t.csv", "--fix", exit.Usage, [2]string{"noise_variance=nan", "noise_variance"}, [2]string{"noise_variance=1e400", "is not a number"}, [2]string{"x=1", "no such parameter"}),
	badWords("fit t.csv", "--bounds", exit.Usage,
		[2]string{"lengthscale=1", "needs NAME=LO:HI"}, [2]string{"lengthscale=2:1", "lengthscale"}, [2]string{"lengthscale=nan:1", "lengthscale"},
		[2]string{"lengthscale=0:inf", "lengthscale"}, [2]string{"lengthscale=-1:1", "lengthscale"},
	),
	badWords("fit t.csv", "--tie", exit.Usage, [2]string{"lengthscale", "needs NAME=OTHER"}, [2]string{"lengthscale=lengthscale", "lengthscale"}, [2]string{"lengthscale=x", "x"}),
	badWords("fit t.csv", "--threads", exit.Usage, [2]string{"-1", "must be from 0 to 1024"}, [2]string{"100000", "must be from 0 to 1024"}, [2]string{"1e3", "invalid"}, [2]string{"99999999999999999999", "out of range"}),
	badWords("fit t.csv", "--restarts", exit.Usage, [2]string{"-1", "must be from 0 to 10000"}, [2]string{"1000000000000", "must be from 0 to 10000"}),
	badWords("fit t.csv", "--max-evals", exit.Usage, [2]string{"-1", "must not be negative"}, [2]string{"x", "invalid"}),
	badWords("fit t.csv", "--subsample", exit.Usage, [2]string{"-1", "must not be negative"}, [2]string{"1.5", "invalid"}),
	badWords("fit t.csv", "--subsample", exit.Data, [2]string{"1", "at least 2 training rows"}),
	badWords("fit t.csv", "--max-jitter", exit.Usage, [2]string{"nan", "must be a nonnegative number"}, [2]string{"inf", "must be a nonnegative number"}),
	badWords("fit t.csv", "--standardize", exit.Usage, [2]string{"yx", "must be xy, x, y or none"}),
	badWords("fit t.csv", "--target", exit.Data, [2]string{"z", "there are"}, [2]string{"7", "out of range"}, [2]string{"-9", "out of range"}, [2]string{"y,y", "listed twice"})[1:],
	badWords("fit t.csv", "--features", exit.Data, [2]string{"y", "also listed as a feature"}, [2]string{"a,a", "listed twice"}, [2]string{"2-0", "runs backwards"}, [2]string{"0-99", "out of range"}),
	badWords("fit t.csv", "--noise-group", exit.Data, [2]string{"a", "noise groups"}, [2]string{"z", `no column named "z"`}),
	badWords("fit t.csv --scores cv", "--folds", exit.Usage, [2]string{"1", "must be at least 2"}, [2]string{"7", "7 folds of 6 rows"}, [2]string{"1000000000000", "folds of 6 rows"}),
	badWords("fit t.csv", "--device", exit.Device, [2]string{"tpu", "no such kind of device"}, [2]string{"cuda:99999999999999999999", "cuda"}),
	badWords("fit t.csv", "--out", exit.Usage, [2]string{".", "is a folder"}, [2]string{"no/m", "there is no folder no; make it first"}, [2]string{"t.csv", "is also an input"}, [2]string{"mask.csv", "mask.csv: the file exists"}, [2]string{"./done/../t.csv", "is also an input"}),
	badWords("fit t.csv --out n.gpfit", "--checkpoint", exit.Usage, [2]string{"n.gpfit", "is also the file of --out"}, [2]string{"t.csv", "is also an input"}, [2]string{"mask.csv", "is not a checkpoint"}, [2]string{".", "is a folder"}),
	badWords("nlml t.csv", "--graph", exit.Usage, [2]string{"t.csv", "is also an input"}, [2]string{"done", "is a folder"}),
	badWords("sample --prior rbf --quiet", "--grid", exit.Usage, [2]string{"0:1", "needs LO:HI:COUNT"}, [2]string{"1:0:3", "LO < HI"}, [2]string{"0:inf:3", "LO < HI"}, [2]string{"0:1:1000000000", "needs LO:HI:COUNT"}),
	badWords("sample --prior rbf --quiet", "--grid", exit.Device, [2]string{"0:1:16000000", "of memory"}),
	badWords("sample --prior rbf --grid 0:1:3", "--draws", exit.Device, [2]string{"1000000000000", "of memory"}),
	badWords("sample --prior rbf --grid 0:1:3", "--set", exit.Usage, [2]string{"lengthscale=-1", "positive"}, [2]string{"lengthscale=nan", "finite"}, [2]string{"x=1", "no such parameter"}),
	badWords("bench --n 3", "--repeat", exit.Usage, [2]string{"0", "must be from 1 to"}, [2]string{"1000000000000", "must be from 1 to"}),
	badWords("bench", "--n", exit.Usage, [2]string{"1", "at least 2 rows"}, [2]string{"x", "invalid"}),
	badWords("bench", "--n", exit.Device, [2]string{"100000000000", "of memory"}),
	badWords("select t.csv --kernels rbf", "--score", exit.Usage, [2]string{"bci", "must be"}),
	[]badCase{
		{args: "fti", code: exit.Usage, want: []string{`did you mean "fit"`}},
		{args: "fit", code: exit.Usage, want: []string{"expected DATA"}},
		{args: "fit t.csv m.gpfit", code: exit.Usage, want: []string{"2 arguments, expected DATA"}},
		{args: "fit t.csv --restart 3", code: exit.Usage, want: []string{`did you mean "restarts"`}},
		{args: "select t.csv", code: exit.Usage, want: []string{"give --kernels"}},
		{args: "select t.csv --kernels rbf( --kernels rbf", code: exit.Usage, want: []string{"expected an argument of rbf"}},
		{args: "nlml t.csv --set lengthscale=1e10 --set noise_variance=1e-300", code: exit.Failure, want: []string{"raise noise_variance"}},
		{args: "nlml t.csv --standardize none --kernel poly(100) --features a --set offset=1e300", code: exit.Failure, want: []string{"double precision"}},
	},
)
