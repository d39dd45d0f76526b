/** Requests of a fleet of controllers: each of its replicas lists and watches one shard. */

import { connect, type ClientHttp2Session } from 'node:http2'

/** Half-open ranges that together are all hashes, as client-go cuts them. */
export function shardSelectors(count: number): string[] {
  const bound = (i: number): string => {
    const hash = (BigInt(i) << 64n) / BigInt(count)
    return `0x${hash.toString(16).padStart(16, '0')}`
  }
  return Array.from(
    { length: count },
    (_, i) => `shardRange(object.metadata.uid, '${bound(i)}', '${bound(i + 1)}')`,
  )
}

/** The parameter that asks for one shard. */
export function shardParameter(selector: string): string {
  return `shardSelector=${encodeURIComponent(selector)}`
}

/** One connection over HTTP/2, as a client in Go has. */
export class Connection {
  readonly #session: ClientHttp2Session

  constructor(port: number) {
    this.#session = connect(`https://127.0.0.1:${port}`, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: 16 * 1024 * 1024 },
    })
    this.#session.once('connect', (session, socket) => {
      session.setLocalWindowSize(64 * 1024 * 1024)
      // Node adds some for each stream.
      socket.setMaxListeners(0)
    })
  }

  /** Resolves when requests can be sent without waiting for the handshake. */
  get connected(): Promise<void> {
    if (!this.#session.connecting) return Promise.resolve()
    return new Promise(resolve => void this.#session.once('connect', () => resolve()))
  }

  /** The pieces of a stream up to the end of its first gzip member: bytes that are followed by none
   *  for a while, and whose last eight are a checksum and a length. */
  async piecesUntilQuiet(
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<Buffer[]> {
    const stream = this.#session.request({ ':path': path, ...headers })
    const pieces: Buffer[] = []
    await new Promise<void>((resolve, reject) => {
      let quiet: NodeJS.Timeout | undefined
      stream.on('error', reject)
      stream.on('data', (piece: Buffer) => {
        pieces.push(piece)
        clearTimeout(quiet)
        // The end of a member has the empty block before its last eight bytes.
        if (endsMember(pieces)) quiet = setTimeout(resolve, quietMs)
      })
    })
    stream.close()
    return pieces
  }

  /** The number of bytes of an answer. */
  async bytesOf(path: string, accept: string): Promise<number> {
    let bytes = 0
    for await (const piece of this.#session.request({ ':path': path, accept })) {
      bytes += (piece as Buffer).length
    }
    return bytes
  }

  /** Counts the events of a watch for as long as the connection lives. */
  watch(path: string, onEvents: (count: number) => void): Promise<void> {
    const stream = this.#session.request({ ':path': path, accept: 'application/json' })
    stream.on('data', (piece: Buffer) => onEvents(linesIn(piece)))
    return new Promise((resolve, reject) => {
      stream.on('error', reject)
      stream.on('response', ({ ':status': status }) => {
        if (status === 200) resolve()
        else reject(new Error(`${path} is answered with ${status}`))
      })
    })
  }

  close(): void {
    this.#session.destroy()
  }
}

/** A member may seem to end where a piece does. */
const quietMs = 500

function endsMember(pieces: readonly Buffer[]): boolean {
  const last = pieces.at(-1)
  const end = last === undefined || last.length < 10 ? Buffer.concat(pieces.slice(-2)) : last
  return end.length >= 10 && end[end.length - 10] === 0x03 && end[end.length - 9] === 0
}

const lineEnd = 0x0a

function linesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, at + 1)) count++
  return count
}
