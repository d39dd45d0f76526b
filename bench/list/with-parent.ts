/** Imported into a program that must end when its parent ends, in whatever way. */

process.on('disconnect', () => process.exit(0))
// Listening must not keep the program alive either.
process.channel?.unref()
