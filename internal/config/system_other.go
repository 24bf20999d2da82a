//go:build !windows

package config

// systemFile is the file that the administrator of the machine writes.
func systemFile(func(string) string) string { return "/etc/kerf/config.toml" }
