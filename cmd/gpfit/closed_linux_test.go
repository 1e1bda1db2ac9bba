package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestClosedStreams closes standard output or input at the start of commands. What needs the stream fails, and a fit has its
// model. The null device is no closed stream, however it was opened.
func TestClosedStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	faultTable(t, dir)
	null := testcheck.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
	defer null.Close()
	for _, one := range []struct {
		line string
		code int
	}{
		{"fit data.csv --kernel rbf --max-evals 3 --out m.gpfit >&-", exit.Failure}, {"predict m.gpfit data.csv >&-", exit.Failure}, {"version >&-", exit.Failure}, {"fit --help >&-", exit.Failure},
		{"check m.gpfit", 0}, {"predict m.gpfit data.csv --out p.csv --force >&-", 0}, {"predict m.gpfit data.csv <&-", 0}, {"predict m.gpfit - <&-", exit.Data}, {"serve <&-", exit.Failure},
		{"version", 0}, {"version >/dev/null", 0},
	} {
		cmd := exec.Command("sh", "-c", "gpfit "+one.line+"; exit $?")
		cmd.Dir, cmd.Stdout = dir, null // a shell that has the null device for reading and writing passes it on
		if strings.Contains(one.line, "&-") {
			cmd.Stdout = nil
		}
		code, stderr := endOn(t, cmd)
		if code != one.code || (code != 0) != strings.Contains(stderr, "was closed when gpfit started") {
			t.Errorf("%s: exit code %d, want %d\n%s", one.line, code, one.code, stderr)
		}
	}
	cmd := exec.Command("gpfit", "version")
	cmd.Stdin, cmd.Stdout = null, null
	if code, stderr := endOn(t, cmd); code != 0 {
		t.Errorf("the null device: exit code %d\n%s", code, stderr)
	}
	testcheck.Get(os.Stat(filepath.Join(dir, "p.csv")))(t)
}
