package main

import (
	"os"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestCheckTable checks that check names all faults of a table, that the command which it prints works, and that the error
// of a fit has the same command.
func TestCheckTable(t *testing.T) {
	t.Chdir(t.TempDir())
	testcheck.Do(t, os.WriteFile("t.csv", []byte("id,a,b,y\nr1,1,x,1\nr2,2,3,2\nr3,,y,3.5\nr4,four,4,4\nr5,5,x,5\nr6,5,x,6\nr7,1,x,6\nr8,1,x,6\nr9,1,x,6\n"), 0o600))
	code, stdout, _ := runLine(t, "check", "t.csv")
	_, command, found := strings.Cut(stdout, "a fit reads it: gpfit ")
	if code != exit.Data || !found || strings.Count(stdout, "wrong: ") != 4 {
		t.Fatalf("exit code %d: %s", code, stdout)
	}
	if _, _, stderr := runLine(t, "fit", "t.csv"); !strings.Contains(stderr, strings.TrimSpace(command)) {
		t.Errorf("the fit has no such command: %s", stderr)
	}
	if code, _, stderr := runLine(t, strings.Fields(command)...); code != 0 {
		t.Errorf("the command ends with %d: %s", code, stderr)
	}
	testcheck.Do(t, os.WriteFile("good.csv", []byte("a,y\n1,2\n2,3\n4,6\n"), 0o600))
	if code, stdout, _ := runLine(t, "check", "good.csv"); code != 0 || stdout != "good.csv: ok: a fit reads it: gpfit fit good.csv\n" {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
