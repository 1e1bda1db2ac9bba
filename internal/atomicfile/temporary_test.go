package atomicfile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// TestMain is the program of TestKilled if GPFIT_TEST_WRITE names a file.
func TestMain(m *testing.M) {
	if path := os.Getenv("GPFIT_TEST_WRITE"); path != "" {
		err := Write(context.Background(), path, func(w io.Writer) error {
			_, err := io.WriteString(w, "half")
			fmt.Println("writing")
			time.Sleep(time.Minute)
			return err
		})
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}

// TestKilled checks that the next process that writes to a folder removes what a killed one left there, and neither what a
// living process writes nor any other file.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is removed there")
	}
	dir := t.TempDir()
	start := func(name string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GPFIT_TEST_WRITE="+filepath.Join(dir, name))
		out := testcheck.Get(cmd.StdoutPipe())(t)
		testcheck.Do(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "writing\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		testcheck.Do(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	living := start("living")
	defer end(living)
	end(start("killed"))
	other := ".x.tmp-gpfit-" + strings.Repeat("0", 8) + "-00000000"
	users := []string{".a.tmp1", ".tmp-gpfit-" + host() + "-00000000", ".a.tmp-gpfit-" + host() + "-00000000.txt", "a.tmp-gpfit-" + host() + "-00000000", other}
	for _, name := range users {
		testcheck.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	folder := ".folder.tmp-gpfit-" + host() + "-00000000"
	testcheck.Do(t, os.Mkdir(filepath.Join(dir, folder), 0o700), WriteBytes(filepath.Join(dir, "new"), []byte("new")))
	count := map[string]int{}
	for _, e := range testcheck.Get(os.ReadDir(dir))(t) {
		base, _, _ := strings.Cut(e.Name(), ".tmp-gpfit-"+host())
		count[base]++
	}
	if count[".killed"] != 0 || count[".living"] != 1 || count["new"] != 1 || count[".folder"] != 1 {
		t.Errorf("%v", count)
	}
	for _, name := range users {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRemoveLeftBeside checks that processes which write and remove at the same time lose no file.
func TestRemoveLeftBeside(t *testing.T) {
	dir := t.TempDir()
	done := make(chan bool)
	go func() {
		for range 300 {
			removeLeft(dir)
		}
		close(done)
	}()
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprint(i%5))
		testcheck.Do(t, WriteBytes(path, []byte("text")))
		if text, err := os.ReadFile(path); string(text) != "text" {
			t.Fatalf("%q, %v", text, err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestLongName checks that a file may have the longest name that systems allow.
func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("é", 127))
	testcheck.Do(t, WriteBytes(path, []byte("text")))
}
