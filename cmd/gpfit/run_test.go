package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// runLine runs the program in this process.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages strings.Builder
	code = run(t.Context(), args, strings.NewReader(""), &out, &messages)
	return code, out.String(), messages.String()
}

// mustLine runs a command that must succeed and returns what it prints.
func mustLine(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runLine(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, stderr)
	}
	return stdout
}

// decodeLine runs a command that must succeed and decodes the JSON that it prints.
func decodeLine(t *testing.T, into any, args ...string) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(mustLine(t, args...)), into))
}

// cancelWriter cancels a context when a line with the given word passes.
type cancelWriter struct {
	strings.Builder
	word   string
	cancel context.CancelFunc
}

func (w *cancelWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.word) {
		w.cancel()
	}
	return w.Builder.Write(p)
}

// interrupt runs a command and cancels it, as Ctrl-C does, when a line with the word appears
// on standard error.
func interrupt(t *testing.T, word string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	messages := &cancelWriter{word: word, cancel: cancel}
	code = run(ctx, args, strings.NewReader(""), &out, messages)
	return code, out.String(), messages.String()
}

// codeCase is a command, with words at blanks, and its exit code.
type codeCase struct {
	code int
	args string
}

// checkCodes runs commands and compares their exit codes. An error has a message.
func checkCodes(t *testing.T, cases []codeCase) {
	t.Helper()
	for _, c := range cases {
		code, _, stderr := runLine(t, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("gpfit %s: exit code %d, want %d\n%s", c.args, code, c.code, stderr)
		}
		if c.code != 0 && !strings.Contains("\n"+stderr, "\ngpfit: ") {
			t.Errorf("gpfit %s: no message: %q", c.args, stderr)
		}
	}
}
