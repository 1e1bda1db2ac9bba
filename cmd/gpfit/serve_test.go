package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/serve"
	"gpfit/fit"
	"gpfit/internal/testcheck"
)

// client talks to a server in this process.
type client struct {
	t    testing.TB
	in   io.WriteCloser
	out  io.Reader
	next uint64
	done chan error
}

func newClient(t testing.TB) *client {
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	c := &client{t: t, in: requests, out: answers, done: make(chan error, 1)}
	go func() {
		c.done <- serve.Serve(t.Context(), in, out, version, run)
		out.Close()
	}()
	var hello serve.Hello
	c.receive(&hello)
	if hello.Protocol != serve.Protocol || hello.Version != version {
		t.Fatalf("hello is %+v", hello)
	}
	t.Cleanup(func() { c.in.Close() })
	return c
}

func (c *client) send(q serve.Request) {
	text := testcheck.Get(json.Marshal(q))(c.t)
	_, err := c.in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	testcheck.Do(c.t, err)
}

func (c *client) start(progress bool, command ...string) uint64 {
	c.next++
	c.send(serve.Request{ID: c.next, Command: command, Progress: progress})
	return c.next
}

func (c *client) receive(message any) {
	var length [4]byte
	testcheck.Get(io.ReadFull(c.out, length[:]))(c.t)
	text := make([]byte, binary.BigEndian.Uint32(length[:]))
	testcheck.Get(io.ReadFull(c.out, text))(c.t)
	testcheck.Do(c.t, json.Unmarshal(text, message))
}

// answer is an event or a response.
type answer struct {
	serve.Response
	Progress *struct {
		Text        string
		Done, Total float64
		Best        *float64
	}
}

// end returns the response to the only command that runs, and the number of events before it.
func (c *client) end() (serve.Response, int) {
	for events := 0; ; events++ {
		var a answer
		if c.receive(&a); a.Progress == nil {
			return a.Response, events
		}
	}
}

func (c *client) call(command ...string) serve.Response {
	c.t.Helper()
	c.start(false, command...)
	r, _ := c.end()
	return r
}

// TestServeMemory checks that commands leave nothing behind in the memory of a server.
func TestServeMemory(t *testing.T) {
	c, before := newClient(t), uint64(0)
	for k := range 400 {
		if k == 100 {
			before = heap()
		}
		c.call("version")
	}
	if after := heap(); after > before+4<<20 { // a command that stays takes 40 kB
		t.Errorf("300 commands have left %d bytes", after-before)
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestServe compares commands of a server with the same commands by themselves: the files that they write
// have the same bytes, also from models and predictors that the server keeps.
func TestServe(t *testing.T) {
	dir, c := t.TempDir(), newClient(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	table := "../../examples/co2_new.csv"
	if r := c.call("fit", "../../examples/co2.csv", "--kernel=rbf", "--max-evals=5", "--quiet", "--out="+file("m.gpfit")); r.Code != 0 {
		t.Fatal(r)
	}
	for _, options := range [][]string{{"predict"}, {"predict", "--mean-only"}, {"predict", "--gradient"}, {"sample", "--draws=3"}} {
		command := append(options, file("m.gpfit"), table, "--quiet", "--force", "--out="+file("one.csv"))
		var out, messages strings.Builder
		if code := run(t.Context(), command, strings.NewReader(""), &out, &messages); code != 0 {
			t.Fatal(messages.String())
		}
		want := testcheck.Get(os.ReadFile(file("one.csv")))(t)
		for range 3 {
			testcheck.Do(t, os.Remove(file("one.csv")))
			if r := c.call(command...); r.Code != 0 {
				t.Fatal(r.Stderr)
			}
			if got := testcheck.Get(os.ReadFile(file("one.csv")))(t); string(got) != string(want) {
				t.Errorf("%v: the server predicts %s, not %s", options, got, want)
			}
		}
	}
	loo := c.call("loo", file("m.gpfit")).Stdout
	if again := c.call("loo", file("m.gpfit")).Stdout; loo == "" || again != loo {
		t.Error("leave-one-out differs the second time")
	}
	if r := c.call("predict", file("m.gpfit"), table, "--nonsense"); r.Code != 2 || !strings.Contains(r.Stderr, "unknown flag --nonsense") {
		t.Errorf("a wrong flag: %+v", r)
	}
	if r := c.call("nonsense"); r.Code != 2 || !strings.Contains(r.Stderr, "unknown command") {
		t.Errorf("a wrong command: %+v", r)
	}
	c.in.Close()
	testcheck.Do(t, <-c.done)
}

// TestServeReplacedModel checks that a model that was replaced is read again.
func TestServeReplacedModel(t *testing.T) {
	dir, c := t.TempDir(), newClient(t)
	model, out := filepath.Join(dir, "m.gpfit"), filepath.Join(dir, "p.csv")
	var found []string
	for _, kernel := range []string{"rbf", "linear"} {
		if r := c.call("fit", "../../examples/co2.csv", "--kernel="+kernel, "--max-evals=3", "--quiet", "--force", "--out="+model); r.Code != 0 {
			t.Fatal(r)
		}
		if r := c.call("predict", model, "../../examples/co2_new.csv", "--quiet", "--force", "--out="+out); r.Code != 0 {
			t.Fatal(r)
		}
		found = append(found, string(testcheck.Get(os.ReadFile(out))(t)))
	}
	if found[0] == found[1] {
		t.Error("predictions of a model that is no longer there")
	}
	// Another file with the same size and time, written into the same file, differs in its checksum.
	info, text := testcheck.Get(os.Stat(model))(t), testcheck.Get(os.ReadFile(model))(t)
	text[len(text)-1] ^= 1
	testcheck.Do(t, os.WriteFile(model, text, 0o600))
	testcheck.Do(t, os.Chtimes(model, time.Time{}, info.ModTime()))
	if r := c.call("predict", model, "../../examples/co2_new.csv", "--quiet", "--force", "--out="+out); r.Code != exit.Data {
		t.Errorf("a damaged model: %+v", r)
	}
}

// TestServePipes names the pipes of a server as files of commands: the answers that follow are whole.
func TestServePipes(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("gpfit", "serve")
	c := &client{t: t, in: testcheck.Get(cmd.StdinPipe())(t), out: testcheck.Get(cmd.StdoutPipe())(t)}
	testcheck.Do(t, cmd.Start())
	c.receive(new(serve.Hello))
	for _, file := range []string{"/dev/stdout", "/dev/stdin", "/dev/fd/1"} {
		c.call("fit", "../../examples/co2.csv", "--kernel=rbf", "--max-evals=2", "--quiet", "--force", "--out="+file)
		c.call("nlml", file, "--kernel=rbf")
		if r := c.call("version"); r.Code != 0 || !strings.HasPrefix(r.Stdout, "gpfit ") {
			t.Errorf("after %s: %+v", file, r)
		}
	}
	testcheck.Do(t, c.in.Close())
	testcheck.Do(t, cmd.Wait())
}

// TestServeCancel interrupts one of two commands that run at the same time, and follows the progress of it.
func TestServeCancel(t *testing.T) {
	dir, c := t.TempDir(), newClient(t)
	model := filepath.Join(dir, "m.gpfit")
	long := c.start(true, "fit", "../../examples/co2.csv", "--kernel=rbf(ard)", "--restarts=5000", "--coarse=off", "--quiet", "--out="+model)
	for best := (*float64)(nil); best == nil; { // before, there is no model to write
		var a answer
		if c.receive(&a); a.ID != long || a.Progress == nil || a.Progress.Text == "" {
			t.Fatalf("%+v is no progress", a)
		}
		best = a.Progress.Best
	}
	short := c.start(false, "version")
	began := time.Now()
	c.send(serve.Request{ID: long, Cancel: true})
	c.send(serve.Request{ID: 99, Cancel: true}) // nobody has it
	codes := map[uint64]int{}
	for len(codes) < 2 && time.Since(began) < time.Minute {
		var a answer
		if c.receive(&a); a.Progress == nil {
			codes[a.ID] = a.Code
		}
	}
	if codes[long] != 130 || codes[short] != 0 {
		t.Errorf("exit codes %v", codes)
	}
	testcheck.Get(os.Stat(model))(t)
}

// TestServeSelect follows a comparison of kernels: the share of the work never falls, and ends at all of it with the value of the best kernel.
func TestServeSelect(t *testing.T) {
	c := newClient(t)
	for _, options := range [][]string{{"--kernels=rbf", "--kernels=matern32"}, {}, {"--kernels=rbf", "--kernels=linear", "--greedy", "--budget=3"}} {
		c.start(true, slices.Concat([]string{"select", "../../examples/co2.csv", "--subsample=150", "--json"}, options)...)
		var last, a answer
		for shares := 0.0; ; last = a {
			a = answer{}
			if c.receive(&a); a.Progress == nil {
				break
			}
			if share := a.Progress.Done / max(1, a.Progress.Total); share < shares {
				t.Errorf("%v: %+v after the share %v", options, a.Progress, shares)
			} else {
				shares = share
			}
		}
		var found fit.Selection
		testcheck.Do(t, json.Unmarshal([]byte(a.Stdout), &found))
		if p := last.Progress; p == nil || p.Done != 100 || p.Total != 100 || *p.Best != found.Report.Objective {
			t.Errorf("%v: %+v at the end with the value %v", options, p, found.Report.Objective)
		}
	}
}

// TestServeEnd closes the requests while a command runs: the server interrupts it and ends.
func TestServeEnd(t *testing.T) {
	c := newClient(t)
	c.start(true, "fit", "../../examples/co2.csv", "--kernel=rbf(ard)", "--restarts=5000", "--coarse=off", "--quiet", "--out="+filepath.Join(t.TempDir(), "m.gpfit"))
	var first answer
	c.receive(&first)
	c.in.Close()
	if r, _ := c.end(); r.Code != 130 {
		t.Errorf("exit code %d", r.Code)
	}
	testcheck.Do(t, <-c.done)
}

// TestServeWrong sends what is no request.
func TestServeWrong(t *testing.T) {
	for text, want := range map[string]string{
		"\x00\x00\x00\x02{}": "has no command to run",
		"\x00\x00\x00\x01{":  "no request",
		"\x00\x00\x00\x09{":  "ends early",
		"GET / HTTP/1.1\r\n": "is not from a client",
		"\x00\x00\x00\x1f{\"id\":1,\"command\":[\"serve\"] }    ": "has no command to run",
	} {
		var out strings.Builder
		err := serve.Serve(t.Context(), strings.NewReader(text), &out, version, run)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
