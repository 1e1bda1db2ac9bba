// Package hostmem reports the free memory of the host.
package hostmem
