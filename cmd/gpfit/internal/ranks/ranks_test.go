package ranks

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestIndependent runs the program where a launcher has started two: as a process of a batch that several share, or as the
// program of a parent, it is independent.
func TestIndependent(t *testing.T) {
	for _, one := range []struct {
		args  []string
		owned bool
	}{{[]string{"resume", "a.run", "--worker"}, false}, {[]string{"batch", "a.yaml", "--shard=auto/2"}, false}, {[]string{"fit", "a.csv"}, true}} {
		t.Setenv("PMI_SIZE", "2")
		t.Setenv("PMI_RANK", "1")
		t.Setenv("SLURM_STEP_NUM_TASKS", "2")
		t.Setenv("SLURM_PROCID", "1")
		if err := Check("dense"); err == nil || !strings.Contains(err.Error(), "PMI_SIZE=2") {
			t.Errorf("one of two processes: %v", err)
		}
		if err := Check("mpi"); err != nil {
			t.Error(err)
		}
		code := Main(one.args, one.owned, io.Discard, func() int {
			if err := Check("dense"); err != nil {
				t.Errorf("%v: %v", one.args, err)
			}
			return 7
		})
		if code != 7 || os.Getenv("PMI_SIZE") != "" {
			t.Errorf("%v: exit code %d", one.args, code)
		}
	}
}
