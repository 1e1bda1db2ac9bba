package message

import (
	"os"
	"strconv"
)

// Launch is the place of this process among the ranks of a launcher, such as mpirun or srun.
type Launch struct {
	// Rank is the number of this process among Size. Without a launcher they are 0 and 1.
	Rank, Size int
	// Launcher names the variable that says so, "" without a launcher.
	Launcher string
}

// launchers are the variables of launchers: of Open MPI, of MPICH and what descends from it, and of Slurm.
var launchers = []struct{ size, rank string }{
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"PMI_SIZE", "PMI_RANK"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
}

// Launched returns what the launcher of this process says. A launcher of one process counts as none.
func Launched() Launch {
	for _, l := range launchers {
		size, badSize := strconv.Atoi(os.Getenv(l.size))
		rank, badRank := strconv.Atoi(os.Getenv(l.rank))
		if badSize == nil && badRank == nil && rank >= 0 && rank < size {
			if size == 1 {
				break
			}
			return Launch{Rank: rank, Size: size, Launcher: l.size}
		}
	}
	return Launch{Size: 1}
}
