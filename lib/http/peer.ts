/** Who is at the other end of a connection. */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Peer } from './exchange.ts'

/** The peer of a socket. Its certificate counts only when it was verified: an unverified one is as good as none. */
export function peerOf(socket: Socket): Peer {
  return {
    address: socket.remoteAddress ?? '',
    certificate() {
      if (!isTls(socket) || !socket.authorized) return undefined
      const certificate = socket.getPeerCertificate(true)
      return certificate.raw === undefined ? undefined : certificate
    },
  }
}

/** Also true of the proxy that an HTTP/2 session gives for its socket. */
function isTls(socket: Socket): socket is TLSSocket {
  return socket instanceof TLSSocket || (socket as Partial<TLSSocket>).encrypted === true
}
