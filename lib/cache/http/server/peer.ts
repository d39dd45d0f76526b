/** The other end of a connection: its address and its certificate. */

import type { Socket } from 'node:net'
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { Peer } from './http-request.ts'

const peers = new WeakMap<Socket, Peer>()

/** The peer of a socket. Its certificate is used only if TLS has verified it. It is read once for
 *  each connection, because reading it costs as much as a small response. */
export function peerOf(socket: Socket): Peer {
  const known = peers.get(socket)
  if (known !== undefined) return known
  const peer = createPeer(socket)
  peers.set(socket, peer)
  return peer
}

function createPeer(socket: Socket): Peer {
  let certificate: DetailedPeerCertificate | undefined
  let hasStrange: boolean | undefined
  return {
    address: socket.remoteAddress ?? '',
    isSecure: isTls(socket),
    serverName: serverNameOf(socket),
    certificate() {
      if (!isTls(socket) || !socket.authorized) return undefined
      return (certificate ??= shownBy(socket))
    },
    hasRefusedCertificate() {
      if (!isTls(socket) || socket.authorized) return false
      return (hasStrange ??= shownBy(socket) !== undefined)
    },
  }
}

/** The certificate that a client has shown; undefined if there is none, or the connection is gone:
 *  Node has null for it then. */
function shownBy(socket: TLSSocket): DetailedPeerCertificate | undefined {
  const shown = socket.getPeerCertificate(true) as DetailedPeerCertificate | null
  return shown?.raw === undefined ? undefined : shown
}

function serverNameOf(socket: Socket): string | undefined {
  // Node has false where the client sent none, against its type.
  const name: unknown = isTls(socket) ? (socket as { servername?: unknown }).servername : undefined
  return typeof name === 'string' ? name : undefined
}

/** True also for the proxy object that an HTTP/2 session returns as its socket. */
function isTls(socket: Socket): socket is TLSSocket {
  return socket instanceof TLSSocket || (socket as Partial<TLSSocket>).encrypted === true
}
