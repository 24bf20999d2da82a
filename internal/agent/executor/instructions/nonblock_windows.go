package instructions

// nonblock is not needed: there are no FIFOs in directories.
const nonblock = 0
