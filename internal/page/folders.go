package page

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// folders matches the folders at the start of an absolute path, of any system.
var folders = regexp.MustCompile(`(^|[\s"'(=,;])((?:[A-Za-z]:)?[/\\](?:[^\s"'(),;:=/\\]+[/\\])+)`)

// WithoutFolders returns text without the folders of absolute paths, which say where the
// files are on somebody's machine. known are paths that may stand in the text with spaces.
func WithoutFolders(text string, known ...string) string {
	var dirs []string
	for _, path := range known {
		if dir := filepath.Dir(path); filepath.IsAbs(path) && dir != filepath.Dir(dir) {
			dirs = append(dirs, dir+string(filepath.Separator))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // folders before those above
	for _, dir := range dirs {
		text = strings.ReplaceAll(text, dir, "")
	}
	return folders.ReplaceAllString(text, "$1")
}
