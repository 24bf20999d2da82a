package guide

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// system names the system and its version.
func system() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
