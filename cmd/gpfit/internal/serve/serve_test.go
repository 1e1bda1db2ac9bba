package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// framed returns messages as a client sends them.
func framed(t *testing.T, requests ...Request) (all []byte) {
	for _, q := range requests {
		text := testcheck.Get(json.Marshal(q))(t)
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(text))), text...)
	}
	return all
}

// TestPanic checks that a panic ends its command with a message, and no other command.
func TestPanic(t *testing.T) {
	var out bytes.Buffer
	run := func(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer) int {
		if args[0] == "broken" {
			panic("no such element")
		}
		fmt.Fprint(stdout, "whole")
		return 0
	}
	requests := []Request{{ID: 1, Command: []string{"broken"}}}
	for id := range uint64(100) {
		requests = append(requests, Request{ID: 2 + id, Command: []string{"other"}})
	}
	in, w := io.Pipe()
	go func() {
		_, _ = w.Write(framed(t, requests...))
		w.Close()
	}()
	testcheck.Do(t, Serve(t.Context(), in, &out, "", run))
	answers, whole := out.Bytes(), 0
	for len(answers) > 0 {
		size := binary.BigEndian.Uint32(answers)
		var r Response
		testcheck.Do(t, json.Unmarshal(answers[4:4+size], &r))
		answers = answers[4+size:]
		switch {
		case r.ID == 1 && (r.Code != 1 || !strings.HasPrefix(r.Stderr, "gpfit: this is a fault of gpfit, please report it") || !strings.Contains(r.Stderr, "no such element")):
			t.Errorf("%+v", r)
		case r.ID > 1 && r.Code == 0 && r.Stdout == "whole":
			whole++
		}
	}
	if whole != 100 {
		t.Errorf("%d of 100 commands beside it have answered", whole)
	}
}

// TestCut cuts a message at every byte. An end between messages is none.
func TestCut(t *testing.T) {
	run := func(context.Context, []string, io.Reader, io.Writer, io.Writer) int { return 0 }
	whole := framed(t, Request{ID: 1, Command: []string{"version"}})
	for n := range len(whole) + 1 {
		err := Serve(t.Context(), bytes.NewReader(whole[:n]), io.Discard, "", run)
		if between := n == 0 || n == len(whole); (err == nil) != between {
			t.Errorf("%d of %d bytes: error %v", n, len(whole), err)
		}
	}
}

// TestLengths checks that a length alone takes no memory, and that one that is too large is an error.
func TestLengths(t *testing.T) {
	for length, message := range map[uint32]string{largest: "ends early", largest + 1: "is not from a client"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := receive(strings.NewReader(string(binary.BigEndian.AppendUint32(nil, length)) + "{}"))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), message) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("length %d: %d bytes, error %v", length, after.TotalAlloc-before.TotalAlloc, err)
		}
	}
}
