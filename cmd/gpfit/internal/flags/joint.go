package flags

import (
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp/columns"
)

// AddJoint declares the flags of a joint distribution, with a default number of
// draws.
func AddJoint(s *pflag.FlagSet, f *columns.Sampling, draws int) {
	s.IntVar(&f.Draws, "draws", draws, "number of joint draws at the rows, columns draw0, draw1, …")
	s.Uint64Var(&f.Seed, "seed", 1, "seed of the draws: the same seed gives the same ones")
	s.StringVar(&f.Covariance, "cov", "", "write the covariance of the rows to `FILE`: .npy, .npz (with the mean) or .csv")
	s.BoolVar(&f.Observed, "observed", false, "draws and covariance are those of new observations, noise included (default: of the function)")
}

// CheckJoint finds mistakes in the flags.
func CheckJoint(f *columns.Sampling) error {
	if f.Draws < 0 {
		return exit.Usagef("--draws %d: must not be negative", f.Draws)
	}
	if f.Covariance != "" && !slices.Contains(columns.CovarianceExtensions, filepath.Ext(f.Covariance)) {
		return exit.Usagef("--cov %s: the name must end in %s", f.Covariance, orList(columns.CovarianceExtensions))
	}
	return nil
}
