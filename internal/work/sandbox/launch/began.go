package launch

// Begun is what the launcher writes over the first byte of its program when all is set up and it
// comes to the command. Until then nothing of the command has run, however the launcher ended; the
// command has no way to the program, and no way to pretend.
const Begun = 0xff

// NotSetUp is how the launcher begins what it could not do.
const NotSetUp = "the sandbox cannot be set up, so the command was not run: "
