package layers

import (
	"go/types"
	"slices"
	"strings"
	"testing"
)

// sharedNames is the largest number of exported type names that more than one
// package declares.
const sharedNames = 12

// ownNames are names that each package may declare, because its users read them
// with the package's name.
var ownNames = []string{"Options", "Result", "Error"}

// TestSharedNames checks that few exported type names are declared in more than one
// package. Packages for tests do not count.
func TestSharedNames(t *testing.T) {
	declared := map[string][]string{}
	for _, pkg := range loadModule(t) {
		if isForTests(pkg.PkgPath) {
			continue
		}
		for _, name := range pkg.Types.Scope().Names() {
			obj, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName)
			if ok && obj.Exported() && !obj.IsAlias() && !slices.Contains(ownNames, name) && !implements(pkg.PkgPath, name) {
				declared[name] = append(declared[name], strings.TrimPrefix(pkg.PkgPath, Module))
			}
		}
	}
	var shared []string
	for name, in := range declared {
		if len(in) > 1 {
			shared = append(shared, name+" in "+strings.Join(in, ", "))
		}
	}
	if slices.Sort(shared); len(shared) > sharedNames {
		t.Errorf("%d exported type names are declared in several packages, at most %d may be:\n%s", len(shared), sharedNames, strings.Join(shared, "\n"))
	}
}

// implements reports whether a type of a device's package implements the interface
// of the same name in package device: cpu.Device is a device.Device.
func implements(path, name string) bool {
	own := path == Module+"cpu" || path == Module+"device/cuda"
	return own && slices.Contains([]string{"Driver", "Device", "Workspace"}, name)
}

// isForTests reports whether only tests use a package.
func isForTests(path string) bool {
	return strings.HasSuffix(path, "test") || strings.Contains(path, "/devicetest/") || strings.Contains(path, "/emulat") || strings.Contains(path, "/internal/refdata") || strings.Contains(path, "/internal/layers")
}
