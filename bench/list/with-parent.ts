/** Imported into a program that shall not outlive whoever has started it, however that ends. */

process.on('disconnect', () => process.exit(0))
// Listening must not keep the program alive either.
process.channel?.unref()
