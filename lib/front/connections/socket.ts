/** Opens sockets to servers of the upstream. */

import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'

/** TCP keep-alive probes begin after this time without traffic: watches may be quiet for an hour. */
const vanishedAfterMs = 30_000

/** Where to connect, and how. */
export interface SocketOptions {
  readonly url: URL
  /** Authority and certificate. */
  readonly tls: ConnectionOptions
  /** The TLS session of an earlier connection, which makes this one cheaper. */
  readonly session?: Buffer | undefined
}

/** Starts to connect; `onConnected` is called once when the socket may be written to. */
export function openSocket(
  { url, tls, session }: SocketOptions,
  onConnected: (socket: Socket) => void,
): Socket {
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  const socket = isSecure
    ? connectTls({
        ...tls,
        host,
        port,
        servername: isIP(host) === 0 ? host : '',
        ALPNProtocols: ['http/1.1'],
        session,
      })
    : connectPlain({ host, port })
  socket.once(isSecure ? 'secureConnect' : 'connect', () => {
    socket.setNoDelay(true)
    socket.setKeepAlive(true, vanishedAfterMs)
    onConnected(socket)
  })
  return socket
}
