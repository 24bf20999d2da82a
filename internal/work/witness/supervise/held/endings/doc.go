// Package endings counts how often files were closed by those who had written them.
package endings
