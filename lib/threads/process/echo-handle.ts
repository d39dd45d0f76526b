/** A child process that sends back what it is sent: see listening.ts. */

process.once('message', (message, handle) => {
  process.send?.(message, handle as never, {}, () => process.disconnect())
})
