//go:build !unix

package ranks

import "os"

// Signals returns none.
func Signals() []os.Signal { return nil }
