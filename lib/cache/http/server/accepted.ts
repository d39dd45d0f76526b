/** Connections on which a client was authenticated. */

const accepted = new WeakSet<object>()

/** Notes a socket, or an HTTP/2 session. */
export function noteAccepted(connection: object): void {
  accepted.add(connection)
}

export function isAccepted(connection: object): boolean {
  return accepted.has(connection)
}
