package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// TestLinksInRuns puts links to a file and a folder outside, pipes and folders in the place of each file of a run, and links in the
// place of its folders. No command changes what lies outside, none waits for ever, and resume repairs the run or names the link.
func TestLinksInRuns(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	runTwoJobs(t, dir, "whole.run")
	mustLine(t, "report", "whole.run")
	testcheck.Do(t, os.MkdirAll("outside/folder", 0o755))
	things := map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink(filepath.Join(dir, "outside/file"), path) },
		"folder": func(path string) error { return os.Symlink(filepath.Join(dir, "outside/folder"), path) },
		"near":   func(path string) error { return os.Symlink("../outside/file", path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"real":   func(path string) error { return os.Mkdir(path, 0o755) },
	}
	places := []string{"lock", "run.json", "run.copy.json", "spec.yaml", "report.html", "jobs", "models", "logs", "checkpoints",
		"jobs/t.rbf.seed-1.jsonl", "models/t.rbf.seed-1.gpfit", "logs/t.rbf.seed-1.log", "checkpoints/t.rbf.seed-1.ckpt"}
	for what, put := range things {
		for _, place := range places {
			folder := !strings.Contains(place, "/") && !strings.Contains(place, ".") && place != "lock"
			if folder && what == "real" {
				continue
			}
			testcheck.Do(t, os.RemoveAll("r.run"), os.CopyFS("r.run", os.DirFS("whole.run")), os.WriteFile("outside/file", []byte("precious"), 0o644), os.RemoveAll("r.run/"+place), put("r.run/"+place))
			for _, command := range [][]string{{"check", "r.run"}, {"show", "r.run"}, {"report", "r.run"}, {"resume", "r.run", "--quiet"}} {
				done := make(chan string, 1)
				go func() {
					code, stdout, stderr := runLine(t, command...)
					done <- fmt.Sprint(code, ": ", stdout, stderr)
				}()
				select {
				case text := <-done:
					if command[0] == "resume" && folder && !strings.Contains(text, "is a ") || command[0] == "resume" && !folder && !strings.HasPrefix(text, "0: ") {
						t.Errorf("%s as %s, %s: %s", what, place, command[0], text)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%s as %s: %s waits", what, place, command[0])
				}
			}
			inside := testcheck.Get(os.ReadDir("outside/folder"))(t)
			if got := string(testcheck.Get(os.ReadFile("outside/file"))(t)); got != "precious" || len(inside) > 0 {
				t.Fatalf("%s as %s: outside is %q and %v", what, place, got, inside)
			}
			// Nobody needs a log, a checkpoint of a job that is done, or the text of the spec: resume leaves them.
			if !folder && place != "spec.yaml" && !strings.HasPrefix(place, "logs/") && !strings.HasPrefix(place, "checkpoints/") {
				if code, stdout, stderr := runLine(t, "check", "r.run"); code != 0 {
					t.Errorf("%s as %s: check after resume: %s%s", what, place, stdout, stderr)
				}
			}
		}
	}
}
