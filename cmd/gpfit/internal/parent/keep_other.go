//go:build !unix

package parent

// keep has nothing to do: programs get the handles that are listed for them.
func keep(uintptr) {}
