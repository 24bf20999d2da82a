// Package roots finds the directory in which changes are witnessed for a name.
package roots
