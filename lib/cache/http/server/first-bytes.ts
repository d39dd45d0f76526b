/** The first bytes of a connection: they tell HTTP/2 from HTTP/1.1, and whoever sends nothing is
 *  not waited for. */

import type * as net from 'node:net'

/** Calls `task` when a connection has sent its first bytes, which stay to be read. One that sends
 *  nothing in time is closed. */
export function onFirstBytes(
  socket: net.Socket,
  withinMs: number,
  task: (start: Buffer) => void,
): void {
  socket.setTimeout(withinMs, () => socket.destroy())
  socket.on('error', () => {})
  socket.once('readable', () => {
    const start = socket.read() as Buffer | null
    if (start === null) return
    socket.setTimeout(0)
    socket.removeAllListeners('timeout')
    socket.unshift(start)
    task(start)
  })
}
