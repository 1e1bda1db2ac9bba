package atomicfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"gpfit/internal/filelock"
)

// A temporary file is named .NAME.tmp-gpfit-HOST-RANDOM, beside the target NAME, with a hash of the
// host's name. Its process holds a lock on it until the file has its own name. So a file of that name, of this host,
// without a lock belongs to a process that was killed.

// temporaryName matches the names of temporary files.
var temporaryName = regexp.MustCompile(`^\..+\.tmp-gpfit-([0-9a-f]{8})-[0-9a-f]{8}$`)

// longestBase bounds the part of the target's name in a temporary one, as systems bound names.
const longestBase = 200

// host returns a hash of the name of this machine.
var host = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(name)))
})

// temporary is a temporary file with its lock.
type temporary struct {
	*os.File
	// lock holds the lock; nil if the file system has none. It is not File, which is closed before the rename.
	lock *os.File
}

// createBeside creates the temporary file, whose permissions never exceed the target's, and locks it.
func createBeside(target string, mode os.FileMode) (*temporary, error) {
	base := filepath.Base(target)
	if len(base) > longestBase {
		base = strings.ToValidUTF8(base[:longestBase], "")
	}
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.tmp-gpfit-%s-%08x", base, host(), rand.Uint32()))
		// The owner may write until the rename, even if the mode forbids it.
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode|0o200)
		switch {
		case err != nil && (!os.IsExist(err) || try == 1000):
			return nil, err
		case err != nil:
			continue
		}
		if t := locked(f); t != nil {
			return t, nil
		}
		f.Close() // another process took the new file for one that was left
		if try == 1000 {
			return nil, &os.PathError{Op: "lock", Path: name, Err: filelock.ErrBusy}
		}
	}
}

// locked locks a new temporary file, and returns nil if another process has locked or removed it.
func locked(f *os.File) *temporary {
	lock, err := os.Open(f.Name())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil: // the umask forbids reading
		return &temporary{File: f}
	}
	err = filelock.Try(lock, true, 0)
	kept, unknown := same(f) // if the system does not say, nobody has removed the file
	if errors.Is(err, filelock.ErrBusy) || err == nil && !kept && unknown == nil {
		lock.Close()
		return nil
	}
	if err != nil { // no locks on this file system
		lock.Close()
		return &temporary{File: f}
	}
	return &temporary{f, lock}
}

// same reports whether an open file still has its name.
func same(f *os.File) (bool, error) {
	now, err := os.Lstat(f.Name())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	open, err := f.Stat()
	return err == nil && os.SameFile(now, open), err
}

// release ends the lock.
func (t *temporary) release() {
	if t.lock != nil {
		t.lock.Close()
		t.lock = nil
	}
}

// removeLeft removes the temporary files in a folder that processes of this machine left when they were killed. It
// leaves alone what has another name, another host or a lock, and everything where there are no locks. On Windows
// it does nothing: a lock ends before the rename there.
func removeLeft(folder string) {
	if runtime.GOOS == "windows" {
		return
	}
	dir, err := os.Open(folder)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if m := temporaryName.FindStringSubmatch(name); m != nil && m[1] == host() {
				removeUnlocked(filepath.Join(folder, name))
			}
		}
		if err != nil {
			return
		}
	}
}

// removeUnlocked removes a regular file unless a process has a lock on it.
func removeUnlocked(path string) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if filelock.Try(f, true, 0) != nil {
		return
	}
	if kept, err := same(f); err == nil && kept {
		_ = os.Remove(path)
	}
}

// seen are the folders from which this process has removed what others left.
var seen sync.Map

// tidy removes, once in a process, what others left in a folder.
func tidy(folder string) {
	if _, before := seen.LoadOrStore(folder, true); !before {
		removeLeft(folder)
	}
}
