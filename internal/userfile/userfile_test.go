package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestDoors opens a file, a folder, a device and links through every door. Nothing but a file comes in.
func TestDoors(t *testing.T) {
	dir := testcheck.Folder(t, map[string]string{"in/file": "1234567", "in/below/own": "", "outside": "secret"})
	at := func(name string) string { return filepath.Join(dir, "in", name) }
	testcheck.Do(t, os.Symlink("file", at("link")), os.Symlink("../..", at("up")), os.Symlink("../outside", at("below/away")))
	for path, kind := range map[string]string{at("file"): "", at("link"): "", at("below"): "a folder", os.DevNull: "a device", at("missing"): "missing"} {
		f, err := Open(path, os.O_RDONLY)
		if err == nil {
			f.Close()
		}
		e, is := errors.AsType[*KindError](err)
		if missing := errors.Is(err, os.ErrNotExist); kind == "" && err != nil || missing != (kind == "missing") || kind != "" && !missing && (!is || e.Kind != kind) {
			t.Errorf("%s: %v, want %q", path, err, kind)
		}
	}
	for name, well := range map[string]bool{"file": true, "below/own": true, "link": false, "below": false, "up/outside": false, "below/away": false, "../outside": false} {
		f, err := Within(at(""), at(name), os.O_RDONLY)
		if (err == nil) != well {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			f.Close()
		}
	}
	if text, err := Read(at("link"), 7); err != nil || string(text) != "1234567" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(at("file"), 6); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("7 bytes of at most 6: %v", err)
	}
	if begin, none := Begin(at("file"), 3), Begin(at("missing"), 3); string(begin) != "123" || none != nil {
		t.Errorf("%q, %q", begin, none)
	}
	if begin := Begin(at("file"), 30); string(begin) != "1234567" {
		t.Errorf("%q", begin)
	}
}
