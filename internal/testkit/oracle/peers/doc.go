// Package peers compares what models read of tools' results beside other agents that are
// on this machine.
package peers
