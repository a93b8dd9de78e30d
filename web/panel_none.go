//go:build noui

package web

import "io/fs"

// PanelBuilt says whether the merchant panel is in this build.
const PanelBuilt = false

// panelFiles returns nil: this build has no panel.
func panelFiles() (fs.FS, error) { return nil, nil }
