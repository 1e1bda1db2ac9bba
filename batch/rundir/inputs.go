package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gpfit/internal/atomicfile"
	"gpfit/internal/userfile"
)

// HashInput returns the size and the SHA-256 of a file, or of all files of a folder
// or pattern, in the order of their names.
func HashInput(path string) (Input, error) {
	in := Input{Path: path}
	files, err := inputFiles(path)
	if err != nil {
		return in, err
	}
	sum := sha256.New()
	for _, f := range files {
		if len(files) > 1 {
			fmt.Fprintf(sum, "%s\x00", filepath.Base(f))
		}
		text, err := userfile.Open(f, os.O_RDONLY)
		if err != nil {
			return in, err
		}
		n, err := io.Copy(sum, text)
		_ = text.Close()
		if err != nil {
			return in, err
		}
		in.Bytes += n
	}
	in.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return in, nil
}

func inputFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		if files, globErr := filepath.Glob(path); globErr == nil && len(files) > 0 {
			slices.Sort(files)
			return files, nil
		}
		return nil, err
	}
	if info.Mode().IsRegular() {
		return []string{path}, nil
	}
	if !info.IsDir() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file; a batch reads its inputs more than once")}
	}
	entries, err := userfile.Folder(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

// SHA256 returns the SHA-256 of text in hexadecimal digits.
func SHA256(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Hashes returns the SHA-256 of every input by its path.
func (m *Manifest) Hashes() map[string]string {
	out := map[string]string{}
	for _, in := range m.Inputs {
		out[in.Path] = in.SHA256
	}
	return out
}

// Changes returns the paths of the inputs that have changed since the run was made,
// and "the spec PATH" if the spec has changed. A missing spec file does not count as
// a change, because the run has a copy.
func (m *Manifest) Changes() ([]string, error) {
	var out []string
	if text, err := userfile.Read(m.SpecPath, mostText); err == nil && SHA256(text) != m.SpecSHA256 {
		out = append(out, "the spec "+m.SpecPath)
	}
	for _, in := range m.Inputs {
		now, err := HashInput(in.Path)
		if err != nil {
			return nil, &Error{Path: in.Path, Msg: "an input of the run cannot be read: " + atomicfile.Cause(err).Error() + "; put the file back", Err: err}
		}
		if now.SHA256 != in.SHA256 {
			out = append(out, in.Path)
		}
	}
	return out, nil
}
