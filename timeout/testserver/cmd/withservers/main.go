// Command withservers runs a command, usually go test, with private servers that end
// with it:
//
//	withservers -- go test ./...
package main

import (
	"os"

	"github.com/tidemall/tidemall/timeout/testserver"
)

func main() {
	os.Exit(testserver.WithServers(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
