//go:build failpoint

package outside

func init() { Watch() }
