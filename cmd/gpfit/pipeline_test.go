package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
	"gpfit/internal/rows"
)

// TestPredictWaitingPipe tests that gpfit writes the predictions of a piece although the
// next one does not arrive, and that it then ends at the end of the input, at a broken row
// or when it is interrupted.
func TestPredictWaitingPipe(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	mustLine(t, "fit", "../../examples/co2.csv", "--max-evals", "3", "--device", "cpu", "--out", model)
	var piece bytes.Buffer
	piece.WriteString("season_cos,year,season_sin,note\n")
	// The long notes fill the buffers of the reader.
	const n = 2 * rows.Piece
	for i := range n {
		fmt.Fprintf(&piece, "0.5,%d,0.25,%0400d\n", 1958+i%60, i)
	}
	for what, c := range map[string]struct {
		end         func(in *io.PipeWriter, cancel func())
		code, lines int
		message     string
	}{
		"end":       {func(in *io.PipeWriter, _ func()) { in.Close() }, 0, 1 + n, ""},
		"more":      {func(in *io.PipeWriter, _ func()) { in.Write([]byte("1,2000,0,a\n")); in.Close() }, 0, 2 + n, ""},
		"broken":    {func(in *io.PipeWriter, _ func()) { in.Write([]byte("1,x,0,a\n")); in.Close() }, exit.Data, 0, `not a number: "x"`},
		"interrupt": {func(_ *io.PipeWriter, cancel func()) { cancel() }, 130, 0, ""},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			stdin, in := io.Pipe()
			out, stdout := io.Pipe()
			var stderr strings.Builder
			done := make(chan int, 1)
			go func() {
				code := run(ctx, []string{"predict", model, "-", "--mean-only", "--device", "cpu"}, stdin, stdout, &stderr)
				stdout.Close()
				done <- code
			}()
			written := make(chan struct{})
			go func() {
				in.Write(piece.Bytes())
				close(written)
			}()
			begin := make([]byte, 1000)
			if _, err := io.ReadFull(out, begin); err != nil {
				t.Fatal(err)
			}
			go func() {
				<-written
				c.end(in, cancel)
			}()
			rest := must.Get(io.ReadAll(out))(t)
			select {
			case code := <-done:
				if code != c.code || !strings.Contains(stderr.String(), c.message) {
					t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.message, stderr.String())
				}
			case <-time.After(time.Minute):
				t.Fatal("gpfit does not end")
			}
			if lines := strings.Count(string(begin)+string(rest), "\n"); c.lines > 0 && lines != c.lines {
				t.Errorf("%d lines, want %d", lines, c.lines)
			}
		})
	}
}
