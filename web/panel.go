//go:build !noui

package web

import (
	"embed"
	"io/fs"
)

// PanelBuilt says whether the merchant panel is in this build.
const PanelBuilt = true

//go:embed all:admin/dist
var built embed.FS

// panelFiles returns the panel's built files.
func panelFiles() (fs.FS, error) { return fs.Sub(built, "admin/dist") }
