package executor

// Version is Kerf's version.
const Version = "0.1.0"
