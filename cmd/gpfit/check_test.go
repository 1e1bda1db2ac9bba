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

// TestCheckRows checks that check names faults of rows and of cells at once, and that the command which it prints reads the
// table without the rows that no option reads.
func TestCheckRows(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, test := range map[string]struct {
		text, without string
		says          []string
	}{
		"decimal commas":   {"1,5;2,5\n2;3\n3,5;1\n4;2,25\n", "", []string{`3: column 1 ("1,5"): "3,5" is no plain number: --decimal , reads it`, "so in 2 rows"}},
		"two headers":      {"a,b,y\ncm,kg,s\n1,2,3\n2,x,4\n3,4,5\n3,x,5\n3,4,5\na,b,y\n4,5,6\n", "", []string{"2: no cell is a number", "so in 2 rows", `column 2 ("b"): not a number: "x"`}},
		"ragged rows":      {"a;b;y\n1,5;x;2,5\n2;x;3\n2;3\n3,5;k;\n;k;x\n4;x;2;1\n5;k;7\n5;k;\n6;k;7\n7;x;8\n", "2;3\n 4;x;2;1\n ;k;x\n", []string{"4: column 3", "7: column 4", `2: column 1 ("a"): "1,5"`, `not a number: "x"`, "empty cell"}},
		"a bad cell":       {"a,y\n1,2\n2,u\n3,4\n4,5\n", "2,u\n", []string{`3: column 2 ("y"): not a number: "u"`}},
		"points, a comma":  {"a;y\n1.5;2\n2;1,5\n3;4\n4;5\n", "2;1,5\n", []string{`3: column 2 ("y"): not a number: "1,5"`}},
		"a table of texts": {"a,y\nu,1\nu,2\nv,3\nv,5\nu,5\n", "", []string{"ok: a fit reads it"}},
	} {
		testcheck.Do(t, os.WriteFile("t.csv", []byte(test.text), 0o600))
		_, stdout, _ := runLine(t, "check", "t.csv")
		_, command, _ := strings.Cut(strings.TrimSpace(stdout), "a fit reads it: gpfit ")
		command += " --force"
		lines := strings.SplitAfter(stdout, "\n")
		if got := strings.Contains(lines[len(lines)-2], "change the lines that no option reads; then"); got != (test.without != "") || strings.Count(stdout, "wrong: ") != len(lines)-2 {
			t.Errorf("%s: %s", name, stdout)
		}
		for _, want := range test.says {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %s: %s", name, want, stdout)
			}
		}
		if test.without != "" {
			if code, _, stderr := runLine(t, strings.Fields(command)...); code != exit.Data {
				t.Errorf("%s: the command ends with %d before the change: %s", name, code, stderr)
			}
		}
		head, rest, _ := strings.Cut(test.text, "\n")
		for _, line := range strings.Split(test.without, " ") {
			rest = strings.ReplaceAll("\n"+rest, "\n"+line, "\n")[1:]
		}
		testcheck.Do(t, os.WriteFile("t.csv", []byte(head+"\n"+rest), 0o600))
		if code, _, stderr := runLine(t, strings.Fields(command)...); code != 0 {
			t.Errorf("%s: the command %s ends with %d: %s", name, command, code, stderr)
		}
	}
}

// TestCheckBroken checks that check names the faults before the place where a table ends for good.
func TestCheckBroken(t *testing.T) {
	t.Chdir(t.TempDir())
	testcheck.Do(t, os.WriteFile("t.csv", []byte("a,b,y\n1,2,3\n4,x,6\n7,8\n9,\"8,7\n"), 0o600))
	_, stdout, _ := runLine(t, "check", "t.csv")
	for _, want := range []string{`3: column 2 ("b"): not a number: "x"`, "4: column 3", "5: column 2 (\"b\"): a quote opens here", "no options read it"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s: %s", want, stdout)
		}
	}
}

// TestCheckEncoding checks a table in another encoding, with the option that it advises.
func TestCheckEncoding(t *testing.T) {
	t.Chdir(t.TempDir())
	testcheck.Do(t, os.WriteFile("t.csv", []byte("st\xe4dte,y\n1,2\n2,4\n3,5\n"), 0o600))
	if _, stdout, _ := runLine(t, "check", "t.csv"); !strings.Contains(stdout, "name its encoding: gpfit check t.csv --encoding NAME") {
		t.Error(stdout)
	}
	if code, stdout, _ := runLine(t, "check", "t.csv", "--encoding", "windows-1252"); code != 0 || stdout != "t.csv: ok: a fit reads it: gpfit fit t.csv --encoding windows-1252\n" {
		t.Errorf("%d: %s", code, stdout)
	}
}
