package flags

import (
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
	"gpfit/option"
)

// TestCheckVariables checks that misspelt variables are mistakes, and that variables of other commands, of
// other programs and of tests are not.
func TestCheckVariables(t *testing.T) {
	fine := []string{"PATH=/bin", "GPFIT_CPU=avx2", "GPFIT_MPI_GRID=1x1", "GPFIT_CUDA_LIB=/x", "GPFIT_LONG=1", "GPFIT_EMU_REQUIRED=1", "PYGPFIT_PROGRAM=x"}
	for _, o := range option.All() {
		if v := o.Variable(); v != "" {
			fine = append(fine, v+"=1")
		}
	}
	testcheck.Do(t, checkVariables(fine, nil))
	err := checkVariables(append(fine, "GPFIT_MAX_EVAL=5", "GPFIT_TOLERENCE=1", "GPFIT_KERNLE=rbf", "GPFIT_NOTHING_LIKE_IT=1", "GPFIT_MPI_GIRD=2x1", "GPFIT_CUDA_LIBS=x"), nil)
	testcheck.Fail[*exit.UsageError](t, err, "GPFIT_KERNLE: no option has this variable (did you mean \"GPFIT_KERNEL\"?)\n", "GPFIT_MAX_EVAL: ", "GPFIT_TOLERENCE: no option has this variable (did you mean \"GPFIT_TOLERANCE\"?)", "GPFIT_MPI_GIRD: ", "GPFIT_CUDA_LIBS: ", "GPFIT_NOTHING_LIKE_IT: ")
}
