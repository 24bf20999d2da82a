// Package ordinary has tests obey the modes of files also where root runs them.
package ordinary
