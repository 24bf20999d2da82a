// Package claim holds the directory of journals of a session, while others look for what was left.
package claim
