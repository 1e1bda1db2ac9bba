package message

import (
	"slices"
	"testing"

	"gpfit/internal/testcheck"
)

// TestLaunched sets the variables of each launcher.
func TestLaunched(t *testing.T) {
	for _, one := range []struct {
		variables map[string]string
		want      Launch
	}{
		{nil, Launch{0, 1, ""}},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, Launch{3, 4, "OMPI_COMM_WORLD_SIZE"}},
		{map[string]string{"PMI_SIZE": "2", "PMI_RANK": "0"}, Launch{0, 2, "PMI_SIZE"}},
		{map[string]string{"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}, Launch{1, 2, "SLURM_STEP_NUM_TASKS"}},
		// mpirun within an allocation of Slurm counts, and so does one process of it.
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "0"}, Launch{1, 2, "OMPI_COMM_WORLD_SIZE"}},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "0"}, Launch{0, 1, ""}},
		// A batch script is a step of one task.
		{map[string]string{"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}, Launch{0, 1, ""}},
		{map[string]string{"SLURM_PROCID": "0"}, Launch{0, 1, ""}},
		{map[string]string{"PMI_SIZE": "many", "PMI_RANK": "0"}, Launch{0, 1, ""}},
		{map[string]string{"PMI_SIZE": "2", "PMI_RANK": "2"}, Launch{0, 1, ""}},
	} {
		for _, l := range launchers {
			t.Setenv(l.size, one.variables[l.size])
			t.Setenv(l.rank, one.variables[l.rank])
		}
		if got := Launched(); got != one.want {
			t.Errorf("%v: %+v, want %+v", one.variables, got, one.want)
		}
	}
}

// TestAlone passes messages in one process on a machine without a library of MPI.
func TestAlone(t *testing.T) {
	t.Setenv(Variable, "libmissing.so")
	for _, l := range launchers {
		t.Setenv(l.size, "")
	}
	w := testcheck.Get(Open())(t)
	if _, err := Load(); err == nil || w.Library != nil || w.Size != 1 || w.Near != 1 {
		t.Fatalf("%+v, %v", w, err)
	}
	v := []float64{1, 2}
	w.Broadcast(v)
	w.Sum(v)
	if !slices.Equal(v, []float64{1, 2}) || !slices.Equal(w.Gather(v), v) || w.Largest(3) != 3 || string(w.Announce([]byte("a"))) != "a" || w.FirstError(nil) != nil {
		t.Error("a rank alone does not keep what it has")
	}
	w.Finalize()
}
