// Package threads finds out whether threads of commands are still in the calls that they made last.
package threads
