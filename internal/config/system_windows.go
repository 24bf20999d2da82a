package config

import "path/filepath"

// systemFile is the file that the administrator of the machine writes.
func systemFile(env func(string) string) string {
	dir := env("ProgramData")
	if dir == "" {
		dir = `C:\ProgramData`
	}
	return filepath.Join(dir, "kerf", "config.toml")
}
