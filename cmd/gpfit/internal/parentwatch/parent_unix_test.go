//go:build unix

package parentwatch

import (
	"fmt"
	"os"
	"testing"

	"gpfit/internal/testcheck"
)

// TestFollow closes the pipe: the context ends, and a program that goes on is ended.
func TestFollow(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("SKIPPED: waits three seconds; GPFIT_LONG=1 runs it")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, fmt.Sprintf("%d:%d", os.Getppid(), r.Fd()))
	exited := make(chan struct{})
	ctx := testcheck.Get(Follow(t.Context(), func() { close(exited) }))(t)
	if _, left := os.LookupEnv(Variable); left || ctx.Err() != nil {
		t.Fatalf("the variable is left: %v; context: %v", left, ctx.Err())
	}
	w.Close()
	<-ctx.Done()
	select {
	case <-exited:
		t.Error("no time to end by itself")
	default:
	}
	<-exited
}
