// Package room says whether Kerf's home has room for what is about to be recorded.
package room
