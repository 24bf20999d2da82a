// Package trust holds what Kerf promises about other people's bytes against the real
// binary. It drives the binary as a user and an editor do, with a scripted model, real
// commands and another process that edits the same files meanwhile, and judges by the
// files and by what the binary prints. It imports nothing of Kerf.
//
//   - Stories: one for each thing that was once seen to go wrong.
//   - Histories: random commands beside a random writer, judged by laws.
//   - Kills: kerf dies in the middle of a command.
//   - Agents: two of them and a user in one directory.
//
// The variables that the tests read:
//
//	KERF_TRUST_HISTORIES  how many random histories are run (6; in CI and with KERF_LONG 300, or as many as 150 s allow)
//	KERF_TRUST_FIRST      the number of the first of them (1)
//	KERF_TRUST_KILLS      how often each is killed (1; in CI and with KERF_LONG 6)
//	KERF_TRUST_STEPS      how many steps two agents and a user take (40; in CI and with KERF_LONG 300)
//	KERF_TRUST_PROGRAM    a kerf that is built already
//	KERF_TRUST_SEED       run the history with this number alone, and keep its files
//	KERF_TRUST_STRICT     nothing that is pending is excused
//
// A history that failed is named by its number. Its commands and the writer's edits are
// the same in every run; how they meet in time is not. `make nightly` runs all of it at
// length.
package trust
