//go:build unix

package main

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestUmask checks that no file or folder that a command writes has more permissions than
// the umask allows.
func TestUmask(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command")
	}
	for _, c := range []struct {
		umask  string
		forbid fs.FileMode
	}{{"077", 0o077}, {"027", 0o027}} {
		dir := runEverything(t, "umask "+c.umask+"; exec")
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			given := map[string]bool{"data.csv": true, "new.csv": true, "study.yaml": true}
			if err != nil || path == dir || given[d.Name()] {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&c.forbid != 0 {
				t.Errorf("umask %s: %s has %v", c.umask, strings.TrimPrefix(path, dir), info.Mode())
			}
			files++
			return err
		})
		if err != nil || files < 12 {
			t.Errorf("%d files, %v", files, err)
		}
	}
}
